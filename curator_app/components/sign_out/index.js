// Ends the session by a POST, which no link can be, then leaves the page. Texts that the server does not have yet are
// sent before; where it takes them not, the page of signing out says so and asks.
const WAY_IN = "/sign-in";
const BY_HAND = "/sign-out";

async function signOut(button) {
  if (window.histocuratorUnsent.sendBeforeLeaving()) {
    location.assign(BY_HAND);
    return;
  }
  button.disabled = true;
  try {
    // The answer sends the browser on and takes the cookie away; it is not followed here but by leaving the page.
    const answer = await fetch(BY_HAND, { method: "POST", credentials: "same-origin", redirect: "manual" });
    location.assign(answer.ok || answer.type === "opaqueredirect" ? WAY_IN : BY_HAND);
  } catch {
    button.disabled = false;
    button.textContent = "Sign out: no answer, try again";
  }
}

export default function ({ parentElement }) {
  const root = parentElement.querySelector(".root");
  if (root.firstChild) return;
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Sign out";
  button.onclick = () => signOut(button);
  root.append(button);
}
