// Takes the browser to another address of this app, without a way back to the page that it leaves.
export default function ({ data }) {
  if (data.address.startsWith("/") && !data.address.startsWith("//")) location.replace(data.address);
}
