"""Angular: components with their templates, and who provides a token."""

import posixpath
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from codeplane.controller.proof_chains.chains import Via
from codeplane.controller.proof_chains.resolution import class_at, class_named, resolve, values_of
from codeplane.controller.proof_chains.script import At, ClassInfo, descend, properties_of, string_of, text_of
from codeplane.controller.proof_chains.source_files import TEMPLATES, SourceFiles
from codeplane.controller.proof_chains.templates import Element, elements_of

COMPONENT: Final = "Component"


@dataclass(frozen=True, slots=True)
class Placed:
    """An element, the file and line it is in, and the component whose template that is."""

    element: Element
    file: str
    line: int
    owner: ClassInfo

    def binding(self, *names: str) -> str:
        """Return the expression of the first of some attributes that is there, an empty text when none is."""
        return next((self.element.attributes[name] for name in names if name in self.element.attributes), "")


def selector_of(info: ClassInfo) -> str:
    """Return the tag of a component, an empty text when it has none."""
    argument = info.decorators.get(COMPONENT)
    value = properties_of(argument).get("selector") if argument is not None else None
    return string_of(value) or ""


def template_of(files: SourceFiles, info: ClassInfo) -> Iterator[Placed]:
    """Yield the elements of a component's template, inline or in a file of its own."""
    argument = info.decorators.get(COMPONENT)
    settings = properties_of(argument) if argument is not None else {}
    inline = settings.get("template")
    for value in values_of(files, At(info.at.module, inline), info) if inline is not None else ():
        if value.node.type in {"string", "template_string"}:
            text = text_of(value.node)[1:-1]
            for element in elements_of(text):
                yield Placed(element, value.module.path, value.line + element.line - 1, info)
    path = template_path(info)
    for element in files.elements(path) if path else ():
        yield Placed(element, path, element.line, info)


def template_path(info: ClassInfo) -> str:
    """Return the file of a component's template, an empty text when it has none."""
    argument = info.decorators.get(COMPONENT)
    name = string_of(properties_of(argument).get("templateUrl")) if argument is not None else None
    return posixpath.normpath(posixpath.join(posixpath.dirname(info.at.module.path), name)) if name else ""


def components_of_file(files: SourceFiles, path: str) -> list[ClassInfo]:
    """Return the components that a script declares, or whose template a file is."""
    if not path.endswith(TEMPLATES):
        module = files.module(path)
        return [one for one in module.classes.values() if COMPONENT in one.decorators] if module is not None else []
    found = []
    for module in files.modules((posixpath.basename(path),)):
        found += [one for one in module.classes.values() if template_path(one) == path]
    return found


def placed_with(files: SourceFiles, word: str) -> Iterator[Placed]:
    """Yield the elements of one tag in all templates."""
    paths = files.containing((f"<{word}",), (*TEMPLATES, ".ts"))
    for path in paths:
        for info in components_of_file(files, path):
            # An inline template is found by its script, one in a file by that file.
            if path.endswith(TEMPLATES) or not template_path(info):
                yield from (placed for placed in template_of(files, info) if placed.element.tag == word)


def inputs_of(info: ClassInfo) -> dict[str, str]:
    """Return the members that are inputs, by the name that templates use."""
    return _bound(info, "Input", "input")


def outputs_of(info: ClassInfo) -> dict[str, str]:
    """Return the members that are outputs, by the name that templates use."""
    return _bound(info, "Output", "output")


def _bound(info: ClassInfo, decorator: str, function: str) -> dict[str, str]:
    found = {}
    for name, member in info.members.items():
        marks = info.marks.get(name, {})
        if decorator in marks:
            found[string_of(marks[decorator]) or name] = name
            continue
        value = member.child_by_field_name("value")
        called = text_of(value.child_by_field_name("function")) if value is not None else ""
        if called in {function, f"{function}.required"}:
            found[name] = name
    return found


def provided_class(files: SourceFiles, module_at: At, token: str) -> tuple[ClassInfo, Via, str] | None:
    """Return the class that is injected for a token: itself, or what `provide … useClass` names.

    The last text says how; None when it is not a class of the repository.
    """
    own = class_named(files, module_at.module, token)
    if own is not None and not own[0].is_abstract:
        return (*own, f"{token} is injected")
    declared = resolve(files, module_at.module, token)
    if own is None and declared is None:
        return None
    key = own[0].at.key if own is not None else declared.key if declared is not None else ("", 0)
    found = list(_provided(files, token, key))
    if len({one.at.key for one in found}) != 1:
        return None
    return found[0], Via.AST, f"{token} is provided by {found[0].name}"


def _provided(files: SourceFiles, token: str, key: tuple[str, int]) -> Iterator[ClassInfo]:
    for module in files.modules(("useClass", "useExisting")):
        for node in descend(module.root, "object"):
            provider = properties_of(node)
            if text_of(provider.get("provide")) != token:
                continue
            declared = resolve(files, module, token)
            target = provider.get("useClass") or provider.get("useExisting")
            found = class_at(resolve(files, module, text_of(target))) if declared and declared.key == key else None
            if found is not None:
                yield found
