from eaglekit.api.converting import Plan as Plan, apply as apply, convert as convert, plan as plan
from eaglekit.api.looking import diff as diff, inspect as inspect
from eaglekit.api.pulling import pull as pull
from eaglekit.api.pushing import push as push
from eaglekit.api.recipes import recipe as recipe
from eaglekit.api.saving import save as save
from eaglekit.api.validating import validate as validate, verify as verify
from eaglekit.report import (
    Fact as Fact,
    Finding as Finding,
    Measurement as Measurement,
    Refusal as Refusal,
    Report as Report,
    Severity as Severity,
    Table as Table,
)
from eaglekit.report.progress import Bar as Bar

_ON_WINDOWS: str
__version__: str
