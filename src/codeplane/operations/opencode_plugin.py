"""The plugin for OpenCode: it sends each hook's arguments to our client and does what that answers."""

import json
from collections.abc import Sequence
from typing import Final

PLUGIN_EVENTS: Final = ("session.created", "chat.message", "tool.execute.before", "tool.execute.after", "session.idle")
_TEXT: Final = """\
// codeplane-hook: written by `cpl connect opencode`, removed by `cpl connect opencode --remove`.
import { spawn } from "node:child_process"

const WORDS = %s

// Start the hook client; whatever fails counts as a refusal before a tool.
const ask = (event, payload) =>
  new Promise((resolve) => {
    const words = WORDS.map((word) => (word === "EVENT" ? event : word))
    const child = spawn(words[0], words.slice(1), { cwd: payload.directory, stdio: ["pipe", "pipe", "pipe"] })
    let out = ""
    let err = ""
    child.stdout.on("data", (data) => (out += data))
    child.stderr.on("data", (data) => (err += data))
    child.on("error", (error) => resolve({ code: 2, out: "", err: `CodePlane could not start: ${error.message}` }))
    child.on("close", (code) => resolve({ code: code ?? 2, out, err }))
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify(payload))
  })

const read = (out) => (out.trim() ? JSON.parse(out) : {})

export const CodePlane = async ({ directory }) => {
  const parents = {}
  const about = (input, output) => ({ directory, parent: parents[input.sessionID] ?? "", input, output })
  return {
    event: async ({ event }) => {
      const id = event.properties?.sessionID
      if (event.type === "session.created") {
        parents[id] = event.properties.info?.parentID ?? ""
        const payload = { ...about({ sessionID: id }, {}), version: event.properties.info?.version }
        await ask("session.created", payload)
      }
      if (event.type === "session.idle") await ask("session.idle", about({ sessionID: id }, {}))
    },
    "chat.message": async (input, output) => {
      const answer = await ask("chat.message", about(input, output))
      const text = answer.code === 0 ? read(answer.out).context : ""
      const first = output.parts?.find((part) => part.type === "text")
      if (text && first) first.text = `${first.text}\\n\\n${text}`
    },
    "tool.execute.before": async (input, output) => {
      const answer = await ask("tool.execute.before", about(input, output))
      if (answer.code !== 0) throw new Error(answer.err.trim() || "CodePlane could not judge this call.")
      // Replacing the object would be ignored.
      Object.assign(output.args, read(answer.out).args ?? {})
    },
    "tool.execute.after": async (input, output) => {
      const answer = await ask("tool.execute.after", about(input, { args: input.args }))
      const text = answer.code === 0 ? read(answer.out).context : ""
      if (text) output.output = `${output.output}\\n${text}`
    },
    "shell.env": async (input, output) => {
      output.env.OPENCODE_SESSION_ID = input.sessionID ?? ""
    },
  }
}
"""


def plugin_text(words: Sequence[str]) -> str:
    """Return the plugin that starts these words; EVENT among them becomes the name of the hook."""
    return _TEXT % json.dumps(list(words))
