// Lets people see the password that they type; without this script the pages work as well.
for (const show of document.querySelectorAll(".show")) {
  const fields = [...show.closest("form").querySelectorAll("input[type=password]")];
  const box = show.querySelector("input");
  const follow = () => fields.forEach((field) => { field.type = box.checked ? "text" : "password"; });
  show.hidden = false;
  box.addEventListener("change", follow);
  // What is sent must be a password again, else the browser offers the text to whoever types here next.
  show.closest("form").addEventListener("submit", () => { box.checked = false; follow(); });
}

// Whoever signs out leaves no text behind in this browser; one that cannot be sent is not taken away unasked.
for (const out of document.querySelectorAll('form[action="/sign-out"]')) {
  const button = out.querySelector("button");
  let asked = false;
  out.addEventListener("submit", (event) => {
    const left = window.histocuratorUnsent.sendBeforeLeaving();
    if (left && !asked) {
      event.preventDefault();
      const said = document.createElement("p");
      said.className = "faults";
      said.setAttribute("role", "alert");
      const texts = left === 1 ? "One text that you typed is" : `${left} texts that you typed are`;
      said.textContent = `${texts} not saved: the server does not take it now. It is kept in this browser as long as you `
        + "stay signed in; signing out now takes it away.";
      out.before(said);
      button.textContent = "Sign out and lose it";
      asked = true;
    } else if (left) {
      window.histocuratorUnsent.forgetMine();
    }
  });
}
