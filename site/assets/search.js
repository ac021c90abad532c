// Search over search.json, which the build has made: one entry for each section of a page with
// u (address), p (title of the page), h (heading) and t (text). It is read when it is first needed.
(function () {
  "use strict";
  const input = document.getElementById("search");
  const results = document.getElementById("results");
  const root = document.querySelector(".brand").href; // of the site, which may be a directory of a server
  let index = null;
  let selected = -1;
  let latest = 0;

  function load() {
    index = index || fetch(root + "search.json").then(function (response) {
      if (!response.ok) throw new Error(response.status);
      return response.json();
    }).then(function (entries) {
      entries.forEach(function (e) { e.low = [e.h || e.p, e.p, e.t].map(function (s) { return s.toLowerCase(); }); });
      return entries;
    });
    return index;
  }

  // score is 0 where a word is missing; headings count more than titles, titles more than text, and
  // the words side by side more than apart.
  function score(entry, words, phrase) {
    const weights = [12, 6, 1];
    let sum = 0;
    for (const word of words) {
      let best = 0;
      entry.low.forEach(function (text, i) {
        const at = text.indexOf(word);
        if (at < 0) return;
        const start = at === 0 || !/[a-z0-9]/.test(text[at - 1]);
        best = Math.max(best, weights[i] * (start ? 2 : 1));
      });
      if (!best) return 0;
      sum += best;
    }
    entry.low.forEach(function (text, i) { if (text.includes(phrase)) sum += 4 * weights[i] * words.length; });
    if (entry.low[0] === phrase) sum += 60;
    return sum;
  }

  // marked appends text to node, with the words marked.
  function marked(node, text, words) {
    const pattern = new RegExp("(" + words.map(function (w) { return w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"); }).join("|") + ")", "gi");
    text.split(pattern).forEach(function (part, i) {
      if (!part) return;
      if (i % 2) { const mark = document.createElement("mark"); mark.textContent = part; node.append(mark); } else node.append(part);
    });
  }

  function excerpt(text, words, phrase) {
    const low = text.toLowerCase();
    let at = low.indexOf(phrase);
    for (let i = 0; at < 0 && i < words.length; i++) at = low.indexOf(words[i]);
    let from = Math.max(0, at - 50);
    if (from) from = text.indexOf(" ", from) + 1;
    return (from ? "\u2026 " : "") + text.slice(from, from + 150) + (from + 150 < text.length ? " \u2026" : "");
  }

  function show(entries, words, phrase) {
    const found = entries.map(function (e) { return [score(e, words, phrase), e]; })
      .filter(function (f) { return f[0]; }).sort(function (a, b) { return b[0] - a[0]; }).slice(0, 15);
    results.replaceChildren();
    found.forEach(function (f, i) {
      const e = f[1], li = document.createElement("li"), a = document.createElement("a");
      const b = document.createElement("b"), small = document.createElement("small");
      marked(b, e.h ? e.p + " \u203a " + e.h : e.p, words);
      marked(small, excerpt(e.t, words, phrase), words);
      a.href = root + e.u;
      a.tabIndex = -1;
      a.append(b, small);
      li.id = "result-" + i;
      li.setAttribute("role", "option");
      li.append(a);
      results.append(li);
    });
    if (!found.length) message("Nothing found.");
    open(true);
    select(found.length ? 0 : -1);
  }

  function message(text) {
    const li = document.createElement("li");
    li.className = "none";
    li.textContent = text;
    results.replaceChildren(li);
    open(true);
  }

  function open(yes) {
    results.hidden = !yes;
    input.setAttribute("aria-expanded", String(yes));
    if (!yes) select(-1);
  }

  function select(i) {
    const items = results.querySelectorAll("[role=option]");
    items.forEach(function (li, n) { li.setAttribute("aria-selected", String(n === i)); });
    selected = i;
    if (i < 0 || !items[i]) { input.removeAttribute("aria-activedescendant"); return; }
    input.setAttribute("aria-activedescendant", items[i].id);
    items[i].scrollIntoView({ block: "nearest" });
  }

  function search() {
    const phrase = input.value.trim().toLowerCase().replace(/\s+/g, " ");
    const turn = ++latest;
    if (phrase.length < 2) return open(false);
    load().then(function (entries) {
      if (turn === latest) show(entries, phrase.split(" "), phrase);
    }, function () {
      index = null;
      message("The search index cannot be read.");
    });
  }

  input.addEventListener("focus", function () { load().catch(function () { index = null; }); if (input.value) search(); });
  input.addEventListener("input", search);
  input.addEventListener("keydown", function (event) {
    const items = results.querySelectorAll("[role=option]");
    if (event.key === "ArrowDown" && items.length) { select((selected + 1) % items.length); event.preventDefault(); }
    if (event.key === "ArrowUp" && items.length) { select((selected + items.length - 1) % items.length); event.preventDefault(); }
    if (event.key === "Enter" && items[selected]) { items[selected].firstChild.click(); open(false); event.preventDefault(); }
    if (event.key === "Escape") { open(false); input.blur(); }
  });
  document.addEventListener("keydown", function (event) {
    const typing = /^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName) || event.target.isContentEditable;
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) { input.focus(); event.preventDefault(); }
  });
  document.addEventListener("click", function (event) {
    if (event.target.closest("#results a")) open(false);
    else if (!event.target.closest(".search")) open(false);
  });
})();
