// Part of components that save: a request is repeated, under one name of the act, until the server answers.
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 15000;
const SHOWN_AFTER_MS = 400;
const ANSWER_WITHIN_MS = 20000;
const BACK = ["online", "histocurator:back", "histocurator:signed-in", "histocurator:answered"];
const waiting = new Set();

for (const name of BACK) window.addEventListener(name, () => { for (const go of waiting) go(); });

function newAct() {
  return [...crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}

function pause(wait) {
  return new Promise((resolve) => {
    const go = () => {
      clearTimeout(timer);
      waiting.delete(go);
      resolve();
    };
    const timer = setTimeout(go, wait);
    waiting.add(go);
  });
}

function parsed(said) {
  try {
    return JSON.parse(said) ?? {};
  } catch {
    return {};
  }
}

/** Return the answer, or why there is none yet. */
async function askOnce(address, body) {
  const ended = new AbortController();
  const late = setTimeout(() => ended.abort(), ANSWER_WITHIN_MS);
  try {
    const answer = await fetch(address, { method: "POST", body, signal: ended.signal,
      headers: { "Content-Type": "application/json" } });
    // Read to its end: an answer that is cut off is none.
    const said = parsed(await answer.text());
    if (answer.status === 401) {
      window.dispatchEvent(new Event("histocurator:signed-out"));
      return { why: "you are signed out" };
    }
    if (answer.status < 500) return { status: answer.status, said };
    // Where it is the disk or the database, the server says so itself.
    return { why: said.why ?? "the server does not answer" };
  } catch {
    return { why: "no connection" };
  } finally {
    clearTimeout(late);
  }
}

/** Ask until there is an answer, and return it; `say` is told in words how it stands. */
async function askUntilAnswered(address, body, say) {
  const slow = setTimeout(() => say("Saving…"), SHOWN_AFTER_MS);
  for (let wait = FIRST_WAIT_MS; ; wait = Math.min(2 * wait, LONGEST_WAIT_MS)) {
    const { why, ...answer } = await askOnce(address, body);
    clearTimeout(slow);
    if (why === undefined) {
      if (wait > FIRST_WAIT_MS) window.dispatchEvent(new Event("histocurator:answered"));
      return answer;
    }
    say(`▲ Not saved yet: ${why}. Trying again…`);
    await pause(wait);
  }
}

