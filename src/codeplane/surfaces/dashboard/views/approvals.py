"""Approvals: what waits for a person, with everything that would happen; answers; grants."""

from codeplane.core.errors import CodePlaneError
from codeplane.surfaces.dashboard.login import Notice
from codeplane.surfaces.dashboard.page_context import Data, Done, PageContext, Query, View

_SHOWN = 50
_SHOWN_ANSWERED = 25
_MAX_DIGITS = 6
# The field of a form that says which button was pressed, and the operation behind each.
_ACTIONS = {"approve": "approve_calls", "deny": "deny_calls", "revoke": "revoke_approval"}


async def _show(context: PageContext, _query: Query) -> Data:
    # Asked for by themselves: many newer answers do not hide an old call that waits.
    waiting = (await context.read("list_approvals", state="pending"))["results"]
    everything = (await context.read("list_approvals"))["results"]
    return {
        "holds": [{**one, "opinions": await _opinions(context, one)} for one in waiting[:_SHOWN]],
        "n_more": max(0, len(waiting) - _SHOWN),
        "answered": [one for one in everything if one["state"] != "pending"][:_SHOWN_ANSWERED],
        "grants": (await context.read("list_grants"))["results"],
    }


async def _opinions(context: PageContext, hold: Data) -> list[Data]:
    """Return what each rule said about the call; nothing where no call was judged."""
    call_id = hold["card"].get("call_id")
    if call_id is None:
        return []
    try:
        found = await context.read("explain_call", call_or_row=call_id)
    except CodePlaneError:
        return []
    opinions: list[Data] = found["decision"]["opinions"]
    return opinions


async def _act(context: PageContext, form: Query) -> Done:
    action, hold_id = form.get("action", ""), form.get("hold_id", "")
    if action not in _ACTIONS:
        raise CodePlaneError("INVALID_ARGUMENTS", f"The form asks for `{action[:40]}`, which is not an answer.")
    arguments: Data = {"hold_id": hold_id}
    if action != "revoke":
        arguments = {"hold_ids": [hold_id], "comment": form.get("comment"), "arguments_digest": form.get("digest")}
        if not form.get("digest"):
            raise CodePlaneError("INVALID_ARGUMENTS", "The form does not say which arguments it was shown for.")
    if action == "approve":
        minutes = form.get("minutes", "")
        if minutes and not (minutes.isdecimal() and len(minutes) <= _MAX_DIGITS):
            raise CodePlaneError("INVALID_ARGUMENTS", "The form does not say for how many minutes.")
        arguments |= {"scope": form.get("scope"), "minutes": int(minutes) if minutes else None}
    try:
        answered = (await context.read(_ACTIONS[action], **arguments))["results"][0]
    except CodePlaneError as error:
        # Most often somebody has answered elsewhere meanwhile: nothing was done, and the page shows how it is.
        return Done("/approvals", Notice(error.message, is_good=False))
    return Done("/approvals", Notice(f"{answered['operation']} ({answered['id']}) is {answered['state']}."))


APPROVALS = View(
    name="approvals",
    title="Approvals",
    path="/approvals",
    show=_show,
    act=_act,
    rest=("/approvals", "/grants"),
)
