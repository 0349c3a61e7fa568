"use strict";
(() => {
  document.documentElement.classList.add("live");
  const draw = document.body.dataset.draw;
  const place = "assize-audit-" + draw;
  const items = [...document.querySelectorAll(".item")];
  const chosen = (item) => item.querySelector("input[type=radio]:checked");
  const comment = (item) => item.querySelector("input[type=text]");

  // A browser may refuse to keep anything for a page from disk; the answers are then on the page alone.
  const keep = () => {
    const answers = {};
    for (const item of items) answers[item.id] = [chosen(item)?.value ?? "", comment(item).value];
    try { localStorage.setItem(place, JSON.stringify(answers)); } catch { /* nothing to do */ }
  };
  const restore = () => {
    let answers = {};
    try { answers = JSON.parse(localStorage.getItem(place) ?? "{}"); } catch { return; }
    for (const item of items) {
      const [label, text] = answers[item.id] ?? [];
      for (const radio of item.querySelectorAll("input[type=radio]")) radio.checked = radio.value === label;
      comment(item).value = text ?? "";
    }
  };
  const count = () => {
    for (const item of items) item.classList.toggle("done", Boolean(chosen(item)));
    const n = items.filter(chosen).length;
    document.getElementById("count").textContent = `${n} of ${items.length} answered`;
  };

  const field = (text) => {
    const safe = /^[=+\-@\t\r]/.test(text) ? "'" + text : text;
    return /[",\r\n]/.test(safe) ? '"' + safe.replaceAll('"', '""') + '"' : safe;
  };
  const csv = () => {
    const rows = [["id", "case", "label", "comment"]];
    for (const item of items) rows.push([item.id, item.dataset.case, chosen(item)?.value ?? "", comment(item).value]);
    return "\ufeff" + rows.map((row) => row.map(field).join(",") + "\n").join("");
  };
  const save = () => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    link.download = `answers-${draw}.csv`;
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  const next = () => {
    const open = items.find((item) => !chosen(item)) ?? items[0];
    if (!open) return;
    open.scrollIntoView({ block: "start" });
    open.querySelector("input").focus({ preventScroll: true });
  };

  // Shows the part of each report that holds most different words of the two events.
  const showPassage = (box) => {
    const marks = [...box.querySelectorAll("mark")];
    let best = null, most = 0;
    marks.forEach((mark, i) => {
      const words = new Set();
      for (let j = i; j < marks.length && marks[j].offsetTop - mark.offsetTop < box.clientHeight / 2; j += 1) {
        words.add(marks[j].textContent.toLowerCase());
      }
      if (words.size > most) { most = words.size; best = mark; }
    });
    if (best) box.scrollTop = Math.max(0, best.offsetTop - box.clientHeight / 3);
  };

  restore();
  count();
  document.querySelectorAll(".report").forEach(showPassage);
  document.addEventListener("input", () => { keep(); count(); });
  document.getElementById("save").addEventListener("click", save);
  document.getElementById("next").addEventListener("click", next);
})();
