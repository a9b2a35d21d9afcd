// Typed texts that the server does not have yet. A text field leaves them in this browser's own storage, one entry for
// each act of writing, so that two tabs never write over each other's; the entry goes when the server has the text. It
// is sent in the name of the account that typed it, by whatever page that account opens next, and for no other.
window.histocuratorUnsent = (() => {
  const PREFIX = "histocurator unsent ";
  const DONE = [200, 413, 422];

  const keyOf = ({ account, name, writing }) => `${PREFIX}${account} ${name} ${writing}`;

  function keysOf(account = "") {
    try {
      return Object.keys(localStorage).filter((key) => key.startsWith(PREFIX + (account && `${account} `)));
    } catch {
      return []; // the browser keeps nothing for this site
    }
  }

  // Synchronous, so that a page which is just being opened reads its drafts after they have come home.
  function ask(method, address, body) {
    const request = new XMLHttpRequest();
    request.open(method, address, false);
    if (body) request.setRequestHeader("Content-Type", "application/json");
    try {
      request.send(body);
    } catch {
      return { status: 0 };
    }
    return request;
  }

  /** Send what an account has here. */
  function send(account) {
    for (const key of keysOf(account)) {
      const kept = localStorage.getItem(key);
      const [name] = key.slice(PREFIX.length + account.length + 1).split(" ");
      const { status } = ask("POST", `/api/drafts/${encodeURIComponent(name)}`, kept);
      // A tab that is open may have written on meanwhile.
      if (DONE.includes(status) && localStorage.getItem(key) === kept) localStorage.removeItem(key);
    }
  }

  /** Return the account that is signed in, null where there is none. */
  function account() {
    const answer = ask("GET", "/api/session");
    return answer.status === 200 ? JSON.parse(answer.responseText).account : null;
  }

  return {
    send,

    /** Keep the texts of one act of writing, or none any more; says whether that was possible. */
    keep(place, body) {
      try {
        if (body === null) localStorage.removeItem(keyOf(place));
        else localStorage.setItem(keyOf(place), body);
        return true;
      } catch {
        return false;
      }
    },

    /** Send what earlier pages and closed tabs of the account that is signed in have left. */
    sendWhatWasLeft() {
      if (keysOf().length === 0) return;
      const signedIn = account();
      if (signedIn) send(signedIn);
    },

    /** Before signing out: send everything of the account, and return how many texts the server did not take. */
    sendBeforeLeaving() {
      if (keysOf().length === 0) return 0;
      const signedIn = account();
      if (!signedIn) return 0;
      send(signedIn);
      return keysOf(signedIn).length;
    },

    /** Forget what could not be sent, since the person signs out all the same. */
    forgetMine() {
      const signedIn = account();
      if (signedIn) keysOf(signedIn).forEach((key) => localStorage.removeItem(key));
    },
  };
})();
