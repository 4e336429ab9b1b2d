"""Templates: how values become text in a page. Everything is escaped; nothing is hidden."""

import json
from collections.abc import Mapping
from typing import Any

import jinja2
from jinja2 import Environment, FunctionLoader, StrictUndefined, pass_context
from jinja2.runtime import Context

from codeplane.core.clock import iso_from_ms, local_time, ms_from_iso
from codeplane.core.printable import counted, encodable, visible_text
from codeplane.surfaces.dashboard.package_files import file_text

_UNITS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))
_MAX_SHOWN = 20_000


def make_environment() -> Environment:
    """Return the environment that all pages share."""
    environment = Environment(
        loader=FunctionLoader(lambda name: file_text("templates", name)),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "ago": _ago,
        "bytes": size,
        "clip": _clip,
        "clock_time": lambda iso: local_time(ms_from_iso(iso)),
        "count": counted,
        "duration": duration,
        "iso": iso_from_ms,
        "pretty": _pretty,
        "shown": _shown,
    }
    return environment


def page(environment: Environment, name: str, data: Mapping[str, Any], fragment: str = "") -> bytes:
    """Return a page, or one block of it, as bytes.

    Raises:
        jinja2.TemplateNotFound: the template has no such block.
    """
    template = environment.get_template(f"{name}.html")
    # A part has no imports of its own, so the macros come with the data.
    data = {**data, "part": environment.get_template("parts.html").make_module(dict(data))}
    if not fragment:
        return _encoded(template.render(data))
    inherited = environment.get_template("layout.html").blocks
    block = template.blocks.get(f"live_{fragment}") or inherited.get(f"live_{fragment}")
    if block is None:
        raise jinja2.TemplateNotFound(f"{name}.html: {fragment[:80]}")
    return _encoded("".join(block(template.new_context(data))))


def duration(milliseconds: float | None) -> str:
    """Return a duration with the unit that fits: `0.4 ms`, `3 ms`, `1.2 s`, `4 min`."""
    if milliseconds is None:
        return "-"
    if milliseconds < 1_000:
        return f"{milliseconds:.1f} ms" if milliseconds < 10 and milliseconds % 1 else f"{milliseconds:.0f} ms"
    return f"{milliseconds / 1000:.1f} s" if milliseconds < 60_000 else span(milliseconds / 1000)


def span(seconds: float) -> str:
    """Return a span of time in its largest unit: `12 s`, `3 min`, `5 h`, `2 d`."""
    for size, unit in _UNITS:
        if seconds >= size:
            return f"{int(seconds // size)} {unit}"
    return "0 s"


def size(n_bytes: float) -> str:
    """Return a size with the unit that fits: `512 B`, `3.4 MB`."""
    for unit in ("B", "kB", "MB"):
        if n_bytes < 1_000:
            return f"{n_bytes:.0f} {unit}" if unit == "B" or n_bytes >= 100 else f"{n_bytes:.1f} {unit}"
        n_bytes /= 1_000
    return f"{n_bytes:.1f} GB"


def _clip(value: object, most: int) -> str:
    """Return the beginning of a text for a place of fixed size."""
    text = _shown(str(value)[:most])
    return text if len(str(value)) <= most else f"{text[: most - 1]}…"


def _encoded(text: str) -> bytes:
    return str(encodable(text)).encode("utf-8")


@pass_context
def _ago(context: Context, iso: str) -> str:
    seconds = (context["now_ms"] - ms_from_iso(iso)) / 1000
    if seconds < 1:
        return "just now" if seconds > -1 else f"in {span(-seconds)}"
    return f"{span(seconds)} ago"


def _shown(value: object, most: int = _MAX_SHOWN) -> str:
    """Return a text in which invisible characters show as their number; the end of a long one is counted."""
    text = str(value)
    cut = len(text) - most
    return visible_text(text if cut <= 0 else f"{text[:most]}… and {counted(cut, 'more character')}")


def _pretty(value: Any, most: int = _MAX_SHOWN) -> str:
    """Return a document as indented JSON."""
    return _shown(json.dumps(value, ensure_ascii=False, indent=2), most)
