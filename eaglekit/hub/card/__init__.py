"""The model card: what a validation report says of a drafter, as the README.md of its repository.

Must never print what was not measured, let a value become markup, or touch what people wrote outside its markers.
"""

from eaglekit.hub.card.checking import check_card
from eaglekit.hub.card.figure import figure
from eaglekit.hub.card.licences import Licence, licence_of
from eaglekit.hub.card.making import CardWishes, card_matter, records_comparison, stated_in
from eaglekit.hub.card.matter import BaseModel, CardMatter, base_model_of
from eaglekit.hub.card.merging import BEGIN, END
from eaglekit.hub.card.stated import word_findings
from eaglekit.hub.card.writing import write_card

__all__ = [
    "BEGIN",
    "END",
    "BaseModel",
    "CardMatter",
    "CardWishes",
    "Licence",
    "base_model_of",
    "card_matter",
    "check_card",
    "figure",
    "licence_of",
    "records_comparison",
    "stated_in",
    "word_findings",
    "write_card",
]
