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
