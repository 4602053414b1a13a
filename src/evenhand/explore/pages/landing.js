"use strict";
// This page is given to whoever asks: it holds no value and no token. It looks for the token that the page of the
// terminal's address left in this browser, for this origin alone, and leads there. What stands behind the # is not read.

const KEPT = "evenhand.token";

function kept() {
  try {
    const token = localStorage.getItem(KEPT) || "";
    return /^[A-Za-z0-9_-]{16,64}$/.test(token) ? token : "";
  } catch {
    return ""; // a browser that keeps nothing
  }
}

async function lead() {
  const token = kept();
  let alive = false;
  if (token) {
    try {
      // A file of the page, so that the software is asked nothing.
      alive = (await fetch(`/${token}/explore.css`, { redirect: "error" })).ok;
    } catch { /* the server has gone */ }
  }
  if (alive) {
    location.replace(`/${token}/${location.hash}`);
    return;
  }
  document.getElementById("how").hidden = false;
}

lead();
