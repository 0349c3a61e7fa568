// Draws the list of games and the chosen game from the JSON block of the page. Data enters the document as text nodes
// only: there is no innerHTML here, and no request of any kind.
(() => {
  "use strict";
  const root = document.documentElement;
  const data = JSON.parse(document.getElementById("assize-data").textContent);
  root.classList.add("live");

  const PAGE_SIZE = window.matchMedia("(max-width: 620px)").matches ? 6 : 12;
  const KINDS = {
    VALUE: "Value", TIMING: "Timing", A_ONLY: "Only in A", B_ONLY: "Only in B",
    SHARED_UNSUPPORTED: "Shared, unsupported", DUPLICATE: "Duplicate",
  };
  const STATUSES = {
    ok: ["Complete", "good"], partial: ["Partial", "open"], failed: ["Failed", "bad"], pending: ["Pending", ""],
  };
  const LOCATIONS = {
    byte_exact: "Quoted word for word.",
    normalised: "Quoted; found after quotation marks and spaces were made alike.",
    unlocated: "Not found in the report.",
    none: "The judge quoted nothing.",
  };

  const timelines = new Map();
  for (const timeline of data.timelines) timelines.set(JSON.stringify([timeline.case, timeline.source]), timeline);
  const sources = [...new Set(data.games.flatMap((game) => [game.a, game.b]))];
  const filter = { case: "", source: "", opponent: "", status: "" };
  const view = { page: 0, game: -1, finding: -1 };
  let drawn = null; // parts of the game on show, by finding

  const byId = (id) => document.getElementById(id);

  // An element with properties and children; strings become text nodes.
  function make(tag, properties, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(properties || {})) {
      if (name === "class") element.className = value;
      else if (name === "click") element.addEventListener("click", value);
      else if (value !== null && value !== undefined) element.setAttribute(name, value);
    }
    for (const child of children.flat()) if (child !== null && child !== undefined) element.append(child);
    return element;
  }
  const name = (text) => make("bdi", null, text);
  const decimals = (value, n) => Number(value.toFixed(n)).toString().replace("-", "\u2212");
  const plural = (n, one, many) => `${n.toLocaleString("en")} ${n === 1 ? one : many}`;
  const points = (value) => (value === 1 ? "1 point" : `${decimals(value, 2)} points`);

  function hours(time) {
    if (time === null) return ["N/A", null];
    const days = Math.abs(time) >= 48 ? `${decimals(time / 24, 1)} d` : null;
    return [`${decimals(time, 2)} h`, days];
  }

  // ---- list -------------------------------------------------------------------------------------------------

  function matches(game) {
    if (filter.case !== "" && game.case !== Number(filter.case)) return false;
    if (filter.status !== "" && game.status !== filter.status) return false;
    const sides = [game.a, game.b];
    if (filter.source !== "" && !sides.includes(sources[filter.source])) return false;
    return filter.opponent === "" || sides.includes(sources[filter.opponent]);
  }
  const found = () => data.games.flatMap((game, index) => (matches(game) ? [index] : []));

  function drawFilters() {
    const counts = new Map();
    for (const game of data.games) counts.set(game.status, (counts.get(game.status) || 0) + 1);
    const fields = [
      ["case", "Case", "All cases", data.cases.map((entry, i) => [i, entry.id])],
      ["source", "Source", "All sources", sources.map((source, i) => [i, source])],
      ["opponent", "Against", "Any opponent", sources.map((source, i) => [i, source])],
      ["status", "Status", "Any status",
        Object.keys(STATUSES).filter((key) => counts.has(key)).map((key) => [key, `${STATUSES[key][0]} (${counts.get(key)})`])],
    ];
    for (const [key, label, all, options] of fields) {
      const select = make("select", { name: key }, make("option", { value: "" }, all),
        options.map(([value, text]) => make("option", { value }, text)));
      select.addEventListener("change", () => setFilter({ [key]: select.value }));
      byId("filters").append(make("label", null, label, select));
    }
    const reset = () => setFilter({ case: "", source: "", opponent: "", status: "" });
    byId("filters").append(make("button", { type: "button", class: "button", click: reset }, "Show all"));
    byId("filters").addEventListener("submit", (event) => event.preventDefault());
  }

  function setFilter(change) {
    Object.assign(filter, change);
    view.page = 0;
    for (const select of byId("filters").querySelectorAll("select")) select.value = filter[select.name];
    drawList();
  }

  function shareBar(game) {
    if (game.share_a === null) return make("span", { class: "share none" }, "no result");
    const percent = 100 * game.share_a;
    const fill = make("i", { class: percent > 0 && percent < 100 ? "" : "whole" });
    fill.style.width = `${percent}%`;
    const text = `${decimals(percent, 1)} : ${decimals(100 - percent, 1)}`;
    return make("span", { class: "share", title: `Point share of A to B: ${text}` }, fill, make("b", null, text));
  }

  function statusTag(game) {
    const [text, tone] = STATUSES[game.status];
    return make("span", { class: `tag ${tone}` }, text);
  }

  function drawList() {
    const games = found();
    const pages = Math.max(1, Math.ceil(games.length / PAGE_SIZE));
    view.page = Math.min(view.page, pages - 1);
    const first = view.page * PAGE_SIZE;
    const rows = games.slice(first, first + PAGE_SIZE).map((index) => {
      const game = data.games[index];
      return make("li", null, make("button", {
        class: "pick", type: "button", "data-game": index, click: () => go(index, -1),
        "aria-current": index === view.game ? "true" : null,
      },
      make("span", { class: "n" }, String(index + 1)),
      make("span", { class: "case" }, name(data.cases[game.case].id)),
      make("span", { class: "pa" }, name(game.a)),
      shareBar(game),
      make("span", { class: "pb" }, name(game.b)),
      make("span", { class: "count" }, plural(game.findings.length, "finding", "findings")),
      make("span", { class: "status" }, statusTag(game))));
    });
    byId("list").replaceChildren(...rows);
    const all = data.games.length;
    byId("count").textContent = games.length === 0 ? "No game matches."
      : games.length === all ? plural(all, "game", "games") : `${games.length.toLocaleString("en")} of ${plural(all, "game", "games")}`;
    const turn = (by) => () => { view.page += by; drawList(); };
    const button = (text, by, off) => {
      const made = make("button", { type: "button", class: "button", click: turn(by) }, text);
      made.disabled = off;
      return made;
    };
    byId("pager").replaceChildren(...(pages === 1 ? [] : [
      button("Previous page", -1, view.page === 0),
      make("span", null, `Page ${view.page + 1} of ${pages}`),
      button("Next page", 1, view.page === pages - 1),
    ]));
    for (const cell of document.querySelectorAll(".matrix td[data-row] button")) {
      const pair = [sources.indexOf(cell.parentElement.dataset.row), sources.indexOf(cell.parentElement.dataset.column)];
      const on = filter.source !== "" && Number(filter.source) === pair[0] && Number(filter.opponent) === pair[1];
      cell.setAttribute("aria-pressed", String(on && filter.opponent !== ""));
    }
  }

  function drawMatrix() {
    for (const cell of document.querySelectorAll(".matrix td[data-row]")) {
      const { row, column } = cell.dataset;
      const pair = [sources.indexOf(row), sources.indexOf(column)];
      const text = cell.textContent;
      if (pair.includes(-1)) {
        cell.removeAttribute("data-row");
        continue;
      }
      const choose = () => {
        setFilter({ case: "", status: "", source: String(pair[0]), opponent: String(pair[1]) });
        byId("games").scrollIntoView();
        byId("games").focus({ preventScroll: true });
      };
      cell.replaceChildren(make("button", {
        type: "button", click: choose, "aria-label": `${row} against ${column}: ${text}. List the games.`,
      }, text));
    }
  }

  // ---- one game ---------------------------------------------------------------------------------------------

  const nameOf = (game, side) => (side === "a" ? game.a : game.b);

  // What a finding means for a side: charged, supported, or undecided.
  function roleOf(game, finding, side) {
    if (!finding.valid) return "undecided";
    if (finding.charged !== null) return finding.charged === nameOf(game, side) ? "charged" : "supported";
    if (finding.verdict === "A" || finding.verdict === "B") return finding.verdict.toLowerCase() === side ? "supported" : "undecided";
    return "undecided";
  }

  function verdictTag(finding) {
    const label = {
      A: "Report supports A", B: "Report supports B", BOTH: "Both supported", NEITHER: "Neither supported", UNCLEAR: "Unclear",
    }[finding.verdict] || finding.verdict;
    const decided = finding.verdict === "A" || finding.verdict === "B";
    return make("span", { class: `tag ${decided ? "good" : "open"}` }, label);
  }

  function sideLine(finding, side) {
    const said = finding[side];
    const letter = make("span", { class: `letter ${side}` }, side.toUpperCase());
    if (said === null) return make("div", { class: "side" }, letter, make("small", null, "no such event"));
    const [time, days] = hours(said.time);
    const place = said.row === null ? "row not identified" : `row ${said.row}`;
    const event = said.event === null ? null : make("span", { dir: "auto" }, said.event);
    const detail = make("small", null, `${event ? " \u00b7 " : ""}${time}${days ? ` (${days})` : ""} \u00b7 ${place}`);
    return make("div", { class: "side" }, letter, make("span", null, event, detail));
  }

  function findingCard(game, finding, index) {
    const decided = finding.valid && finding.charged !== null;
    const title = make("button", { class: "title", type: "button", "aria-pressed": "false" },
      make("span", { class: "n" }, String(index + 1)), make("span", null, KINDS[finding.kind] || finding.kind), verdictTag(finding),
      finding.polarity === "absent" ? make("span", { class: "tag" }, "Negative finding") : null,
      finding.valid ? null : make("span", { class: "tag bad" }, "Invalid, not counted"));
    const charge = decided
      ? make("p", { class: "charge" }, make("strong", null, `${finding.category || "Discrepancy"}: ${points(finding.points)}`),
        " charged to ", name(finding.charged))
      : make("p", { class: "charge" }, finding.valid ? "Nobody is charged." : "Left out of the score.");
    const quotes = data.no_text || finding.evidence === null ? null
      : make("blockquote", { class: finding.location === "unlocated" ? "lost" : "", dir: "auto" }, finding.evidence);
    const card = make("li", { class: `card ${finding.valid ? (decided ? "decided" : "undecided") : "invalid"}` }, title, charge,
      sideLine(finding, "a"), sideLine(finding, "b"),
      finding.rationale === null ? null : make("p", { dir: "auto" }, finding.rationale),
      quotes, make("p", { class: "where" }, LOCATIONS[finding.location]),
      errorList(finding.errors));
    card.addEventListener("click", (event) => {
      // Dragging over text to copy it ends in a click too; the keyboard's clicks have no count.
      const marked = window.getSelection();
      const copying = event.detail > 0 && String(marked) !== "" && marked.containsNode(card, true);
      if (!copying) select(index, true);
    });
    return card;
  }

  const errorList = (errors) => (errors.length === 0 ? null
    : make("ul", { class: "errors" }, errors.map((error) => make("li", { dir: "auto" }, error))));

  // The report, cut wherever a cited passage begins or ends; a piece inside passages is a mark.
  function reportText(game, marks) {
    const text = data.cases[game.case].report_text;
    if (text === null) return make("p", { class: "empty" }, data.no_text ? "The report text is withheld." : "No report text.");
    const spans = game.findings.flatMap((finding, index) => (finding.span ? [{ index, start: finding.span[0], end: finding.span[1] }] : []));
    const cuts = [...new Set([0, text.length, ...spans.flatMap((span) => [span.start, span.end])])].sort((a, b) => a - b);
    const body = make("div", { class: "report", dir: "auto" });
    for (let i = 0; i + 1 < cuts.length; i += 1) {
      const piece = text.slice(cuts[i], cuts[i + 1]);
      const inside = spans.filter((span) => span.start <= cuts[i] && cuts[i + 1] <= span.end).map((span) => span.index);
      if (inside.length === 0) {
        body.append(piece);
        continue;
      }
      const list = inside.map((index) => index + 1).join(", ");
      const next = () => select(inside[(inside.indexOf(view.finding) + 1) % inside.length], false);
      const mark = make("mark", { title: `Cited by finding ${list}`, click: next }, piece);
      for (const index of inside) marks[index].push(mark);
      body.append(mark);
    }
    return body;
  }

  function timelinePanel(game, side, rowsOf) {
    const source = nameOf(game, side);
    const timeline = timelines.get(JSON.stringify([game.case, source]));
    const head = make("header", null, make("h4", null, make("span", { class: `letter ${side}` }, side.toUpperCase()), name(source)),
      timeline ? make("small", { class: "empty" }, plural(timeline.rows.length, "row", "rows")) : null);
    if (!timeline) return make("section", { class: "panel" }, head, make("div", { class: "body" }, make("p", { class: "empty" }, "No timeline in this file.")));
    const cited = new Map();
    game.findings.forEach((finding, index) => {
      const row = finding[side] && finding[side].row;
      if (row === null || row === undefined) return;
      cited.set(row, [...(cited.get(row) || []), index]);
    });
    const body = timeline.rows.map((row) => {
      const findings = cited.get(row.row) || [];
      const roles = findings.map((index) => roleOf(game, game.findings[index], side));
      const role = ["charged", "supported", "undecided"].find((kind) => roles.includes(kind)) || "";
      const [time, days] = hours(row.time);
      const refs = findings.map((index) => {
        const ref = make("button", { class: "ref", type: "button", "aria-label": `Finding ${index + 1}`, click: () => select(index, true) }, String(index + 1));
        rowsOf[index].push(ref);
        return ref;
      });
      const event = row.event === null ? make("span", { class: "empty" }, "withheld") : make("span", { dir: "auto" }, row.event);
      const element = make("tr", { class: role, title: row.line === null ? null : `Line ${row.line} of the file` },
        make("td", { class: "n" }, String(row.row)), make("td", { class: "t" }, time, days ? make("small", null, days) : null),
        make("td", { class: "e" }, event, refs.length === 0 ? null : make("div", null, refs)));
      for (const index of findings) rowsOf[index].push(element);
      return element;
    });
    const table = make("table", { class: "rows" },
      make("thead", null, make("tr", null, make("th", { scope: "col", class: "n" }, "Row"), make("th", { scope: "col", class: "t" }, "Time"), make("th", { scope: "col" }, "Event"))),
      make("tbody", null, body));
    return make("section", { class: "panel", "aria-label": `Timeline ${side.toUpperCase()}` }, head,
      make("div", { class: "body", tabindex: "0" }, body.length ? table : make("p", { class: "empty" }, "The timeline is empty.")));
  }

  function failureBox(game) {
    const failure = game.failure;
    if (failure === null) return null;
    return make("div", { class: "failure" },
      make("h4", null, `${game.status === "failed" ? "This game failed" : "A reply was refused"}: ${failure.outcome.replaceAll("_", " ")}`),
      errorList(failure.errors),
      failure.raw === null
        ? make("p", { class: "empty" }, data.no_text ? "The reply is withheld." : "No reply was kept.")
        : [make("p", { class: "empty" }, "The reply as it came:"), make("pre", { dir: "auto", tabindex: "0" }, failure.raw)]);
  }

  function whoLine(game, side) {
    const charged = game.points === null ? null : make("small", null, `${points(game.points[side])} charged`);
    return make("div", { class: "who" }, make("span", { class: `letter ${side}` }, side.toUpperCase()), name(nameOf(game, side)), charged);
  }

  function drawGame() {
    const game = data.games[view.game];
    const target = byId("game");
    drawn = null;
    if (!game) {
      target.replaceChildren(make("p", { class: "empty" }, data.games.length === 0 ? "There are no games." : "Choose a game above."));
      return;
    }
    const marks = game.findings.map(() => []);
    const rows = game.findings.map(() => []);
    const listed = found();
    const at = listed.indexOf(view.game);
    const step = (text, by) => {
      const to = at === -1 ? undefined : listed[at + by];
      const made = make("button", { type: "button", class: "button", click: () => go(to, -1) }, text);
      made.disabled = to === undefined;
      return made;
    };
    const cards = game.findings.map((finding, index) => findingCard(game, finding, index));
    const back = make("button", { type: "button", class: "button", click: () => cards[view.finding] && cards[view.finding].scrollIntoView({ block: "center" }) }, "");
    back.hidden = true;
    const report = make("div", { class: "body", tabindex: "0" }, reportText(game, marks));
    const nothing = game.status === "pending" ? "Not judged yet." : game.status === "failed" ? "No findings: the game failed."
      : "The judge found no discrepancy.";
    target.replaceChildren(
      make("div", { class: "gamehead" },
        make("h3", { id: "h-game", tabindex: "-1" }, `Game ${view.game + 1}: case `, name(data.cases[game.case].id)),
        statusTag(game), make("span", { class: "empty" }, plural(game.attempts, "attempt", "attempts")),
        step("Previous game", -1), step("Next game", 1)),
      make("div", { class: "versus" }, whoLine(game, "a"), shareBar(game), whoLine(game, "b")),
      ...[failureBox(game)].filter(Boolean),
      make("div", { class: "panels" },
        make("section", { class: "panel", "aria-label": "Findings" }, make("header", null, make("h4", null, "Findings"), make("small", { class: "empty" }, String(cards.length))),
          make("div", { class: "body", tabindex: "0" }, cards.length ? make("ol", { class: "cards" }, cards) : make("p", { class: "empty" }, nothing))),
        make("section", { class: "panel", "aria-label": "Case report" }, make("header", null, make("h4", null, "Case report"), back), report),
        make("div", { class: "two" }, timelinePanel(game, "a", rows), timelinePanel(game, "b", rows))),
      make("p", { class: "legend" }, [["Charged in a finding", "bad"], ["Supported by the report", "good"], ["Undecided or not counted", "open"]].map(([text, tone]) => {
        const entry = make("span", null, text);
        entry.style.setProperty("--c", `var(--${tone}-bg)`);
        return entry;
      })));
    drawn = { marks, rows, cards, back };
  }

  // Scrolls only the panel around an element, never the page.
  function reveal(element) {
    const body = element.closest(".body");
    const offset = element.getBoundingClientRect().top - body.getBoundingClientRect().top + body.scrollTop;
    body.scrollTo({ behavior: "auto", top: offset - Math.max(24, (body.clientHeight - element.offsetHeight) / 3) });
  }

  // Shows one finding in all panels. With `follow`, the page moves to the report where that is out of sight.
  function select(index, follow) {
    if (!drawn || !drawn.cards[index]) return;
    for (const part of [...drawn.marks.flat(), ...drawn.rows.flat(), ...drawn.cards]) part.classList.remove("on");
    drawn.cards.forEach((card, i) => card.querySelector(".title").setAttribute("aria-pressed", String(i === index)));
    view.finding = index;
    drawn.cards[index].classList.add("on");
    for (const part of [...drawn.marks[index], ...drawn.rows[index]]) part.classList.add("on");
    if (drawn.marks[index].length > 0) reveal(drawn.marks[index][0]);
    for (const part of drawn.rows[index]) if (part.tagName === "TR") reveal(part);
    if (!follow) reveal(drawn.cards[index]);
    drawn.back.hidden = false;
    drawn.back.textContent = `Back to finding ${index + 1}`;
    const first = drawn.marks[index][0];
    if (follow && first) {
      const panel = first.closest(".panel").getBoundingClientRect();
      if (panel.top > window.innerHeight * 0.75 || panel.bottom < window.innerHeight * 0.25) first.closest(".panel").scrollIntoView({ block: "start" });
    }
    remember();
  }

  // ---- addresses --------------------------------------------------------------------------------------------

  const address = () => `#game=${view.game + 1}${view.finding >= 0 ? `&finding=${view.finding + 1}` : ""}`;

  function remember() {
    try {
      history.replaceState(null, "", address());
    } catch {
      // A viewer that forbids it only loses the link.
    }
  }

  // Opens a game by the reader's choice: a new entry in the history, then the page moves to it.
  function go(game, finding) {
    const hash = `#game=${game + 1}${finding >= 0 ? `&finding=${finding + 1}` : ""}`;
    if (location.hash === hash) open(game, finding, true);
    else location.hash = hash;
  }

  function open(game, finding, move) {
    view.game = game;
    view.finding = -1;
    drawGame();
    for (const pick of document.querySelectorAll(".pick")) {
      if (Number(pick.dataset.game) === game) pick.setAttribute("aria-current", "true");
      else pick.removeAttribute("aria-current");
    }
    if (move) {
      byId("game").scrollIntoView({ block: "start", behavior: "instant" });
      const heading = byId("h-game");
      if (heading) heading.focus({ preventScroll: true });
    }
    if (finding >= 0) select(finding, false);
  }

  function readAddress(move) {
    const match = /^#game=(\d+)(?:&finding=(\d+))?$/.exec(location.hash);
    const game = match ? Number(match[1]) - 1 : -1;
    if (game >= 0 && game < data.games.length) {
      const listed = found().indexOf(game);
      if (listed >= 0 && Math.floor(listed / PAGE_SIZE) !== view.page) {
        view.page = Math.floor(listed / PAGE_SIZE);
        drawList();
      }
      open(game, match[2] ? Number(match[2]) - 1 : -1, move);
      return true;
    }
    return false;
  }

  drawFilters();
  drawMatrix();
  drawList();
  window.addEventListener("hashchange", () => readAddress(true));
  if (!readAddress(true)) open(data.games.length ? 0 : -1, -1, false);
})();
