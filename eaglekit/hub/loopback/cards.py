"""What the Hub says of the front matter of a card. Its own rules, not those of whoever writes cards."""

from __future__ import annotations

import re
from typing import Any

import yaml

FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*$", re.DOTALL | re.MULTILINE)
REPO_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?", re.ASCII)

LICENCE_IDS = """apache-2.0 mit openrail bigscience-openrail-m creativeml-openrail-m bigscience-bloom-rail-1.0
    bigcode-openrail-m afl-3.0 artistic-2.0 bsl-1.0 bsd bsd-2-clause bsd-3-clause bsd-3-clause-clear c-uda cc
    cc0-1.0 cc-by-2.0 cc-by-2.5 cc-by-3.0 cc-by-4.0 cc-by-sa-3.0 cc-by-sa-4.0 cc-by-nc-2.0 cc-by-nc-3.0 cc-by-nc-4.0
    cc-by-nd-4.0 cc-by-nc-nd-3.0 cc-by-nc-nd-4.0 cc-by-nc-sa-2.0 cc-by-nc-sa-3.0 cc-by-nc-sa-4.0
    cdla-sharing-1.0 cdla-permissive-1.0 cdla-permissive-2.0 wtfpl ecl-2.0 epl-1.0 epl-2.0 etalab-2.0 eupl-1.1
    eupl-1.2 agpl-3.0 gfdl gpl gpl-2.0 gpl-3.0 lgpl lgpl-2.1 lgpl-3.0 isc h-research intel-research lppl-1.3c ms-pl
    apple-ascl apple-amlr mpl-2.0 odc-by odbl openmdw-1.0 openrail++ osl-3.0 postgresql ofl-1.1 ncsa unlicense zlib
    pddl lgpl-lr deepfloyd-if-license fair-noncommercial-research-license llama2 llama3 llama3.1 llama3.2 llama3.3
    llama4 grok2-community gemma unknown other
"""
LICENCES = frozenset(LICENCE_IDS.split())

TEXTS = frozenset({"license_name", "license_link", "library_name", "pipeline_tag", "new_version", "thumbnail"})
TEXTS_OR_LISTS = frozenset({"license", "base_model", "datasets", "language", "metrics", "tags"})
KNOWN = TEXTS | TEXTS_OR_LISTS | {"model-index", "widget", "inference", "base_model_relation"}
RELATIONS = frozenset({"adapter", "finetune", "merge", "quantized"})


def card_problems(text: str) -> tuple[list[str], list[str]]:
    """The errors and the warnings that the Hub has for a README.md."""
    found = FRONT_MATTER.match(text)
    if found is None:
        return [], ["empty or missing yaml metadata in repo card"]
    try:
        matter = yaml.safe_load(found[1])
    except yaml.YAMLError as error:
        return [f"Invalid YAML: {getattr(error, 'problem', None) or 'cannot be read'}"], []
    if matter is None:
        return [], ["empty or missing yaml metadata in repo card"]
    if not isinstance(matter, dict):
        return ['"cardData" must be of type object'], []
    problems = [f'"{key}" must not be null' for key in matter if key in KNOWN and matter[key] is None]
    for key, value in matter.items():
        if value is not None:
            problems += problems_of(str(key), value)
    return problems, []


def problems_of(key: str, value: Any) -> list[str]:
    """What is wrong with one known key."""
    if key in TEXTS:
        return [] if isinstance(value, str) and value else [f'"{key}" must be a string']
    if key in TEXTS_OR_LISTS:
        values = value if isinstance(value, list) else [value]
        wrong = [f'"{key}[{number}]" must be a string' for number, each in enumerate(values)
                 if not isinstance(each, str)]  # fmt: skip
        return wrong or [problem for each in values if (problem := problem_of_text(key, each))]
    if key == "model-index":
        return problems_of_index(value)
    if key == "base_model_relation" and value not in RELATIONS:
        return [f'"base_model_relation" must be one of [{", ".join(sorted(RELATIONS))}]']
    return []


def problem_of_text(key: str, text: str) -> str | None:
    """What is wrong with one text of a known key."""
    if key == "license" and text not in LICENCES:
        return f'"license" must be one of [{", ".join(sorted(LICENCES))}]'
    if key == "base_model" and not REPO_ID.fullmatch(text):
        return f'"base_model" with value "{text}" is not valid. Use a model id from https://hf.co/models.'
    if key == "datasets" and not REPO_ID.fullmatch(text):
        return (
            f'"datasets" with value "{text}" is not valid. If possible, use a dataset id from https://hf.co/datasets.'
        )
    if key == "language" and text != text.lower():
        return '"language" must only contain lowercase characters'
    return None


def problems_of_index(value: Any) -> list[str]:
    """What is wrong with the results that a card claims."""
    if not isinstance(value, list):
        return ['"model-index" must be an array']
    problems = []
    for number, model in enumerate(value):
        here = f"model-index[{number}]"
        if not isinstance(model, dict) or not isinstance(model.get("name"), str):
            problems.append(f'"{here}.name" is required')
            continue
        results = model.get("results")
        if not isinstance(results, list):
            problems.append(f'"{here}.results" must be an array')
            continue
        for index, result in enumerate(results):
            problems += problems_of_result(f"{here}.results[{index}]", result)
    return problems


def problems_of_result(here: str, result: Any) -> list[str]:
    """What is wrong with one result."""
    if not isinstance(result, dict):
        return [f'"{here}" must be of type object']
    problems = [
        f'"{here}.{key}.{field}" is required'
        for key, field in (("task", "type"), ("dataset", "type"), ("dataset", "name"))
        if not isinstance(result.get(key), dict) or not isinstance(result[key].get(field), str)
    ]
    metrics = result.get("metrics")
    if not isinstance(metrics, list):
        return [*problems, f'"{here}.metrics" is required']
    for number, metric in enumerate(metrics):
        for field in ("type", "value"):
            if not isinstance(metric, dict) or metric.get(field) is None:
                problems.append(f'"{here}.metrics[{number}].{field}" is required')
    return problems
