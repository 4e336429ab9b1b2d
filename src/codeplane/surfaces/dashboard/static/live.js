// Keeps a page current: follows the server's events, adds rows of calls, and fetches parts that changed.
// Text from the server becomes text here, never markup; parts come from the server, which has escaped them.

const GAP_MS = 1500;
const FINAL = new Set(["finished", "failed", "denied", "held"]);
const TONES = { finished: "good", failed: "bad", denied: "bad", held: "warn" };
const connection = document.getElementById("connection");

function say(state, text) {
  if (!connection || connection.dataset.state === state) return;
  connection.dataset.state = state;
  connection.textContent = text;
}

export function ago(then) {
  const seconds = (Date.now() - then) / 1000;
  if (seconds < 1) return "just now";
  for (const [size, unit] of [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]])
    if (seconds >= size) return `${Math.floor(seconds / size)} ${unit} ago`;
  return "just now";
}

function duration(ms) {
  if (ms === null || ms === undefined) return "-";
  if (ms < 1000) return `${Math.round(ms)} ms`;
  return ms < 60000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.floor(ms / 60000)} min`;
}

// Characters that do not show, or that turn the direction of text, appear as their number, as on the server.
function visible(text) {
  return String(text).replace(/(?![ \n\t])[\p{C}\p{Z}\u115f\u1160\u3164\uffa0\u2800\ufe00-\ufe0f\u034f\u17b4\u17b5]/gu,
    (char) => `<U+${char.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}>`);
}

function cut(text, most) {
  const whole = visible(text ?? "");
  return whole.length > most ? `${whole.slice(0, most)}…` : whole;
}

function about(call) {
  if (call.message) return cut(call.message, 160);
  const effects = call.effects ?? {};
  const parts = [...(effects.writes ?? []), ...(effects.deletes ?? []), ...(effects.reads ?? []), ...(effects.commands ?? [])];
  return parts.slice(0, 3).map((part) => cut(Array.isArray(part) ? part.join(" ") : part, 80)).join(" ");
}

// Of many calls at once only those are drawn that stay on the page.
const arrived = [];

function takeCall(call) {
  // A page that nobody sees draws nothing.
  if (arrived.length > 200) arrived.splice(0, 100);
  if (arrived.push(call) > 1) return;
  requestAnimationFrame(() => {
    const most = Number(document.querySelector("[data-follow=calls]")?.dataset.most ?? 0);
    for (const one of arrived.splice(0).slice(-most || Infinity)) addCall(one);
  });
}

function addCall(call) {
  const table = document.querySelector("[data-follow=calls]");
  const model = document.getElementById("call-row");
  const body = table?.tBodies[0];
  if (!body || !model || body.querySelector(`[data-row="${Number(call.seq)}"]`)) return;
  const row = model.content.firstElementChild.cloneNode(true);
  const field = (name) => row.querySelector(`[data-field=${name}]`);
  row.dataset.row = call.seq;
  row.classList.add("fresh");
  field("time").dateTime = call.time;
  field("time").title = new Date(call.time).toLocaleString();
  field("time").textContent = ago(Date.parse(call.time));
  field("operation").textContent = cut(call.operation ?? "?", 80);
  field("operation").href = `/dashboard/operations/${encodeURIComponent(call.call_id ?? call.seq)}`;
  field("kind").textContent = call.kind;
  field("kind").classList.add(TONES[call.kind] ?? "plain");
  field("error").textContent = cut(call.error, 40);
  field("about").textContent = about(call);
  field("session").textContent = cut(call.session, 20);
  field("session").href = `/dashboard/operations?session=${encodeURIComponent(call.session)}`;
  field("duration").textContent = duration(call.duration_ms);
  body.prepend(row);
  while (body.rows.length > Number(table.dataset.most)) body.lastElementChild.remove();
}

// A part is fetched at once when something happened, then every second and a half while more happens.
const waiting = new Map();

function refresh(part) {
  const known = waiting.get(part.id) ?? { last: 0, timer: 0 };
  waiting.set(part.id, known);
  if (known.timer) return;
  known.timer = setTimeout(async () => {
    known.last = Date.now();
    await replace(part.id);
    known.timer = 0;
  }, Math.max(0, known.last + GAP_MS - Date.now()));
}

async function replace(id) {
  const old = document.getElementById(id);
  // What somebody is writing in is left alone until they are done.
  if (!old || old.querySelector("form[data-changed]") || old.contains(document.activeElement) && document.activeElement.matches("input, textarea, select")) return;
  const address = new URL(location.href);
  address.searchParams.set("fragment", id);
  address.searchParams.delete("notice");
  try {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) return;
    const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById(id);
    if (!fresh) return;
    const open = new Set([...old.querySelectorAll("details[open][id]")].map((one) => one.id));
    for (const one of fresh.querySelectorAll("details[id]")) one.open ||= open.has(one.id);
    const focused = old.contains(document.activeElement) ? document.activeElement.id : "";
    old.replaceWith(document.adoptNode(fresh));
    if (focused) document.getElementById(focused)?.focus();
  } catch {
    // The server is away; the stream tells when it is back.
  }
}

function refreshAll(kind) {
  for (const part of document.querySelectorAll("[data-live]"))
    if (!kind || !part.dataset.live || part.dataset.live.split(" ").includes(kind)) refresh(part);
}

let last = document.body.dataset.newest ?? "";
let retry = 0;
let isBack = false;
let stream = null;

function connect() {
  // A browser has six connections for one server: tabs that nobody sees leave theirs to others.
  if (document.hidden || stream) return;
  stream = new EventSource(`/dashboard/events${last ? `?last_event_id=${encodeURIComponent(last)}` : ""}`);
  const take = (event) => {
    last = event.lastEventId || last;
    const row = JSON.parse(event.data);
    if (FINAL.has(event.type)) takeCall(row);
    refreshAll(event.type);
  };
  const kinds = document.body.dataset.kinds?.split(" ") ?? [];
  for (const kind of ["begun", ...FINAL, "task_opened", "task_closed", "approval_requested", "approval_decided",
    "approval_used", "approval_revoked", "governance_decided", "server_started", ...kinds]) stream.addEventListener(kind, take);
  stream.addEventListener("hello", () => { say("live", "live"); if (isBack) refreshAll(""); isBack = true; retry = 0; });
  stream.addEventListener("reset", () => { last = ""; location.reload(); });
  stream.addEventListener("shutdown", () => say("away", "server is away"));
  stream.onerror = () => {
    disconnect();
    say("away", "server is away");
    retry = Math.min(retry + 1, 8);
    setTimeout(again, 250 * retry);
  };
}

function disconnect() {
  stream?.close();
  stream = null;
}

async function again() {
  const answer = await fetch("/dashboard/is-logged-in").catch(() => null);
  if (answer?.status === 401) location.reload();
  else connect();
}

document.addEventListener("visibilitychange", () => {
  if (document.hidden) { disconnect(); say("off", "not live"); } else connect();
});

setInterval(() => {
  for (const one of document.querySelectorAll("time[datetime]")) {
    const then = Date.parse(one.dateTime);
    if (then <= Date.now()) one.textContent = ago(then);
  }
}, 5000);

connect();
for (const part of document.querySelectorAll("[data-load]")) refresh(part);
