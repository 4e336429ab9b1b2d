"""Surfaces, what is read, and code that is broken, circular or gone."""

import random

import pytest

from codeplane.controller.proof_chains.catalog import (
    KINDS,
    build_chains,
    federation_unit_of,
    is_federation_surface,
    is_table_surface,
)
from codeplane.controller.proof_chains.templates import elements_of, masked
from controller.proof_chains.test_cases import CASES, Case, view
from support.effort import repeated

ORDERS = next(case for case in CASES if case.name == "a complete chain from an inline template")
SHOP = next(case for case in CASES if case.name == "a route of the host leads to the component of a remote")
PROVED = [case for case in CASES if case.settings["expect"] == "complete"]


def test_tables_columns_and_renderers_are_table_surfaces() -> None:
    files = view(ORDERS.files)
    found = {path for path in ORDERS.files if is_table_surface(path, files)}
    assert found == {"src/app/orders-table.component.ts", "src/app/order-link.component.ts"}


def test_a_component_that_a_column_names_is_a_table_surface() -> None:
    plain = "@Component({ selector: 'x', template: '' }) export class PlainComponent {}"
    table = ORDERS.files["src/app/orders-table.component.ts"].replace("OrderLinkComponent", "PlainComponent")
    files = view({"a/plain.ts": plain, "a/table.ts": table})
    assert is_table_surface("a/plain.ts", files)
    assert not is_table_surface("a/plain.ts", view({"a/plain.ts": plain}))


def test_configurations_exposed_files_and_host_routes_are_federation_surfaces() -> None:
    files = view(SHOP.files)
    found = {path for path in SHOP.files if is_federation_surface(path, files)}
    assert found == set(SHOP.files) - {"apps/cart/src/app/cart.component.ts"}


@pytest.mark.parametrize(
    ("path", "unit"),
    [
        ("apps/cart/src/app/cart.component.ts", "apps/cart"),
        ("apps/host/module-federation.config.ts", "apps/host"),
        ("libs/shared/index.ts", None),
    ],
)
def test_a_unit_is_the_directory_of_a_federation_configuration(path: str, unit: str | None) -> None:
    assert federation_unit_of(path, view(SHOP.files)) == unit


def test_a_repository_without_angular_is_not_parsed() -> None:
    files = view(
        {f"src/module_{n}.py": "x = 1\n" for n in range(50)} | {"src/a.ts": "export const a = 1;", "b.html": "<p>"}
    )
    for path in files.paths:
        assert not is_table_surface(path, files)
        assert not is_federation_surface(path, files)
        assert build_chains("ag_grid_origin", path, files) == ()
    assert files.n_parsed == 0
    assert files.n_read <= 2


@pytest.mark.parametrize("case", PROVED, ids=lambda case: case.name)
def test_no_chain_is_complete_without_the_file_of_one_of_its_links(case: Case) -> None:
    chain = build_chains(case.kind, case.settings["target"], view(case.files))
    for gone in {link.file for one in chain for link in one.links} - {case.settings["target"]}:
        rest = {path: text for path, text in case.files.items() if path != gone}
        left = build_chains(case.kind, case.settings["target"], view(rest))
        assert len([one for one in left if one.status == "complete"]) < max(1, len(chain)), gone


CIRCLES = {
    "a constant of itself": "export const P = P + '/x';",
    "a member of itself": "export class P { p = this.p; q = this.q.concat(this.q); get r() { return this.r; } }",
    "a class that extends itself": "export class OrderLinkComponent extends OrderLinkComponent { agInit() {} }",
    "modules that export each other": "export * from './order-link.component'; export * from './app.routes';",
    "a function that calls itself": "export function OrderLinkComponent() { return OrderLinkComponent(); }",
}


@pytest.mark.parametrize("text", CIRCLES.values(), ids=CIRCLES)
@pytest.mark.parametrize(
    "path", ["src/app/order-link.component.ts", "src/app/app.routes.ts", "src/app/order.service.ts"]
)
def test_code_that_leads_to_itself_ends(path: str, text: str) -> None:
    chains = build_chains("ag_grid_origin", ORDERS.settings["target"], view(ORDERS.files | {path: text}))
    assert all(chain.status != "complete" for chain in chains)


def test_routes_that_load_themselves_end() -> None:
    routes = (
        "import { Routes } from 'x'; export const routes: Routes = "
        "[{ path: 'a', loadChildren: () => import('./app.routes').then(m => m.routes) }];"
    )
    chains = build_chains(
        "ag_grid_origin", ORDERS.settings["target"], view(ORDERS.files | {"src/app/app.routes.ts": routes})
    )
    assert [chain.status for chain in chains] == ["broken_at:Route"]


def test_damaged_files_give_chains_and_never_an_exception() -> None:
    rng = random.Random(13)
    for _ in range(repeated(60)):
        case = rng.choice(CASES)
        path = rng.choice(sorted(case.files))
        text = case.files[path]
        start = rng.randrange(len(text))
        damaged = (
            text[:start]
            + rng.choice(["", "{", "}", "`", "'", "<", "\x00", "🙂", "@if ("])
            + text[start + rng.randrange(30) :]
        )
        files = view(case.files | {path: damaged})
        for kind in KINDS:
            for chain in build_chains(kind, case.settings["target"], files):
                assert chain.status == "complete" or chain.status.startswith(("terminated:", "broken_at:"))


def test_masking_keeps_every_byte_in_its_place() -> None:
    text = "<p>{{ 'ü' }}</p>@if (a < b) {<b>}</b>}@for (x of y; track x) {\n<i/>}"
    assert len(masked(text).encode()) == len(text.encode())
    assert [element.tag for element in elements_of(text)] == ["p", "b", "i"]
    assert [element.line for element in elements_of(text)] == [1, 1, 2]


def test_an_unknown_target_has_no_chains() -> None:
    assert build_chains("federation", "nowhere.ts", view(SHOP.files)) == ()
