"""The formats of strings that are enforced, as patterns: what each accepts is valid, in its usual spelling.

Sources: RFC 3339 (without leap seconds, which only tables know), RFC 1123, 4122, 4291 (without the mixed IPv4
spelling), 3986, 5321 (without quoted local parts) and 6901. All other formats are annotations, as JSON Schema
allows.
"""

from __future__ import annotations

_YEAR = r"(?:000[1-9]|00[1-9]\d|0[1-9]\d\d|[1-9]\d{3})"
_LEAP = r"(?:\d\d(?:0[48]|[2468][048]|[13579][26])|(?:0[48]|[2468][048]|[13579][26])00)"
_DATE = (
    rf"(?:{_YEAR}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\d|30)"
    rf"|02-(?:0[1-9]|1\d|2[0-8]))|{_LEAP}-02-29)"
)
_TIME = r"(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)"
_CLOCK = r"(?:\d+H(?:\d+M(?:\d+S)?)?|\d+M(?:\d+S)?|\d+S)"
_DAYS = r"(?:\d+Y(?:\d+M(?:\d+D)?)?|\d+M(?:\d+D)?|\d+D)"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_BYTE = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
_IPV4 = rf"{_BYTE}(?:\.{_BYTE}){{3}}"
_H16 = r"[0-9A-Fa-f]{1,4}"
_IPV6 = "(?:" + "|".join([
    rf"(?:{_H16}:){{7}}{_H16}",
    *(rf"(?:{_H16}:){{{n}}}(?::{_H16}){{1,{7 - n}}}" for n in range(1, 7)),
    rf":(?::{_H16}){{1,7}}", rf"(?:{_H16}:){{1,7}}:", "::",
]) + ")"  # fmt: skip
_PCHAR = r"(?:[A-Za-z0-9._~!$&'()*+,;=:@-]|%[0-9A-Fa-f]{2})"
_PLAIN = r"(?:[A-Za-z0-9._~!$&'()*+,;=@-]|%[0-9A-Fa-f]{2})"  # of a first segment: without a colon
_USER = r"(?:(?:[A-Za-z0-9._~!$&'()*+,;=:-]|%[0-9A-Fa-f]{2})*@)?"
_HOST = rf"(?:\[{_IPV6}\]|(?:[A-Za-z0-9._~!$&'()*+,;=-]|%[0-9A-Fa-f]{{2}})*)"
_AUTHORITY = rf"//{_USER}{_HOST}(?::\d*)?(?:/{_PCHAR}*)*"
_ABSOLUTE = rf"/(?:{_PCHAR}+(?:/{_PCHAR}*)*)?"
_END = rf"(?:\?(?:{_PCHAR}|[/?])*)?(?:#(?:{_PCHAR}|[/?])*)?"
_HIERARCHY = rf"(?:{_AUTHORITY}|{_ABSOLUTE}|{_PCHAR}+(?:/{_PCHAR}*)*)?"
_RELATIVE = rf"(?:{_AUTHORITY}|{_ABSOLUTE}|{_PLAIN}+(?:/{_PCHAR}*)*)?"

FORMATS: dict[str, str] = {
    name: f"^(?:{pattern})$"
    for name, pattern in {
        "date": _DATE,
        "time": _TIME,
        "date-time": f"{_DATE}T{_TIME}",
        "duration": rf"P(?:\d+W|{_DAYS}(?:T{_CLOCK})?|T{_CLOCK})",
        "email": rf"{_ATOM}(?:\.{_ATOM})*@{_LABEL}(?:\.{_LABEL})*",
        "hostname": rf"{_LABEL}(?:\.{_LABEL})*",
        "ipv4": _IPV4,
        "ipv6": _IPV6,
        "uuid": r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        "uri": rf"[A-Za-z][A-Za-z0-9+.-]*:{_HIERARCHY}{_END}",
        "uri-reference": rf"(?:[A-Za-z][A-Za-z0-9+.-]*:{_HIERARCHY}|{_RELATIVE}){_END}",
        "json-pointer": r"(?:/(?:[^~/]|~[01])*)*",
    }.items()
}
"""Each enforced format's pattern, in ECMA 262."""
