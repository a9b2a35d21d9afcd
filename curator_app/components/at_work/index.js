// Gives a lease back when the tab that works on it is closed: the server hears of a closed tab late, or not at all.
let held = null;

export default function ({ data }) {
  held = data;
  return () => { held = null; };
}

window.addEventListener("pagehide", () => {
  if (!held) return;
  const body = new Blob([JSON.stringify({ account: held.account })], { type: "application/json" });
  navigator.sendBeacon(`/api/leases/${held.object}/end`, body);
});
