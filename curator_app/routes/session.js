// Watches in every page whether the person is still signed in. When the session has ended, it covers the page, which
// stays as it is below; when the same person is back, what could not be sent meanwhile is sent.
(() => {
  const EVERY_MS = 15000;
  const ENDED = ["Your session has ended", "What you typed is kept."];
  const FROM_NOW_ON = ["From now on everybody signs in here", "You too. What you typed is kept."];
  const OTHER = ["Somebody else is signed in now", "This page is another account's. What was typed here is kept for that one."];
  let atFirst = null;
  let cover = null;
  let covered = false;

  function buildCover() {
    const host = document.createElement("div");
    host.id = "histocurator-session";
    const root = host.attachShadow({ mode: "open" });
    root.innerHTML = `<style>dialog::backdrop { background: Canvas; }</style>
      <link rel="stylesheet" href="/vendor/account.css">
      <dialog role="alertdialog" aria-labelledby="what" aria-describedby="more"><h1 id="what"></h1><p id="more"></p>
      <a class="button first" autofocus></a></dialog>`;
    const dialog = root.querySelector("dialog");
    dialog.addEventListener("cancel", (event) => event.preventDefault());
    dialog.addEventListener("close", () => { if (covered) dialog.showModal(); });
    document.body.append(host);
    return { dialog, what: root.getElementById("what"), more: root.getElementById("more"), link: root.querySelector("a") };
  }

  function show([what, more], words, address) {
    cover.what.textContent = what;
    cover.more.textContent = more;
    cover.link.textContent = words;
    cover.link.href = address;
    covered = true;
    if (!cover.dialog.open) cover.dialog.showModal();
  }

  function uncover() {
    covered = false;
    cover.dialog.close();
    window.histocuratorUnsent.send(atFirst.account);
    window.dispatchEvent(new Event("histocurator:signed-in"));
  }

  function cameBack() {
    return performance.getEntriesByType("navigation")[0]?.type === "back_forward";
  }

  function judge(now) {
    const away = now.needed && !now.signed_in;
    const next = encodeURIComponent(location.pathname);
    if (!atFirst) {
      atFirst = now;
      // A page out of the browser's memory; others that have no session yet are on their way to one.
      if (away && cameBack()) location.replace(`/sign-in?next=${next}`);
    } else if (atFirst.account && away) {
      if (atFirst.needed) show(ENDED, "Sign in again", `/sign-in?ended=1&next=${next}`);
      else show(FROM_NOW_ON, "Sign in", `/sign-in?next=${next}`);
    } else if (atFirst.account && now.account && now.account !== atFirst.account) {
      show(OTHER, "Open their page", location.pathname);
    } else if (covered) {
      uncover();
    }
  }

  async function check() {
    try {
      const answer = await fetch("/api/session", { cache: "no-store" });
      if (answer.ok) judge(await answer.json());
    } catch {
      // The server is not to be reached; the page says so itself.
    }
  }

  function checkIfSeen() {
    if (document.visibilityState === "visible") check();
  }

  window.histocuratorUnsent.sendWhatWasLeft();
  document.addEventListener("DOMContentLoaded", () => {
    cover = buildCover();
    check();
    setInterval(checkIfSeen, EVERY_MS);
    document.addEventListener("visibilitychange", checkIfSeen);
    window.addEventListener("pageshow", (event) => { if (event.persisted) check(); });
    window.addEventListener("histocurator:signed-out", check);
  });
  // The first to hear of a key: the page's own keys are out of reach below the cover.
  for (const kind of ["keydown", "keyup", "keypress"]) {
    window.addEventListener(kind, (event) => { if (covered) event.stopImmediatePropagation(); }, true);
  }
})();
