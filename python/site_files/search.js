// The search of the documentation site. It works for pages opened from files: the index is a script,
// which is loaded when the reader first turns to the search.
(function () {
  "use strict";

  const SHOWN = 12;
  const own = document.currentScript.src;
  const root = own.slice(0, own.lastIndexOf("/assets/") + 1);

  function words(text) {
    return text.toLowerCase().split(/[^\p{L}\p{N}_]+/u).filter(Boolean);
  }

  // How well a section answers: every word must be there, at the beginning of one of its words.
  function score(section, asked) {
    let sum = 0;
    for (const word of asked) {
      const starts = (list) => list.filter((one) => one.startsWith(word)).length;
      const inHeading = starts(section.headingWords);
      const inTitle = starts(section.titleWords);
      const inText = starts(section.textWords);
      if (inHeading + inTitle + inText === 0) return 0;
      const isExact = section.headingWords.includes(word) ? 20 : 0;
      sum += isExact + 30 * Math.min(inHeading, 1) + 8 * Math.min(inTitle, 1);
      sum += (10 * inText) / (inText + 3);
    }
    return sum;
  }

  // The text around the first word that was asked for.
  function excerpt(section, asked) {
    const low = section.text.toLowerCase();
    const places = asked.map((word) => low.indexOf(word)).filter((place) => place >= 0);
    const from = Math.max(0, Math.min(...places, low.length) - 50);
    return (from > 0 ? "… " : "") + section.text.slice(from, from + 160) + " …";
  }

  let sections = null;
  let loading = null;
  function load() {
    loading ??= new Promise((done) => {
      const script = document.createElement("script");
      script.src = root + "assets/search-index.js";
      script.onload = () => {
        sections = window.weirSections.map((one) => ({
          ...one,
          headingWords: words(one.heading),
          titleWords: words(one.title),
          textWords: words(one.text),
        }));
        done();
      };
      document.head.append(script);
    });
    return loading;
  }

  function build() {
    const header = document.querySelector(".md-header__inner");
    if (!header || document.querySelector(".weir-search")) return;
    const form = document.createElement("div");
    form.className = "weir-search";
    form.setAttribute("role", "search");
    const input = document.createElement("input");
    input.type = "search";
    input.placeholder = "Search";
    input.setAttribute("aria-label", "Search the documentation; / moves here");
    const list = document.createElement("ol");
    list.hidden = true;
    list.setAttribute("aria-label", "Results");
    form.append(input, list);
    header.append(form);

    let chosen = -1;
    function choose(number) {
      const items = [...list.children];
      chosen = Math.max(-1, Math.min(number, items.length - 1));
      items.forEach((item, at) => item.classList.toggle("chosen", at === chosen));
      if (chosen >= 0) items[chosen].scrollIntoView({ block: "nearest" });
    }
    function show() {
      const asked = words(input.value);
      list.replaceChildren();
      chosen = -1;
      list.hidden = asked.length === 0 || sections === null;
      if (list.hidden) return;
      const found = sections
        .map((section) => ({ section, score: score(section, asked) }))
        .filter((one) => one.score > 0)
        .sort((a, b) => b.score - a.score)
        .slice(0, SHOWN);
      for (const { section } of found) {
        const link = document.createElement("a");
        link.href = root + section.url;
        const place = document.createElement("strong");
        place.textContent =
          section.heading && section.heading !== section.title
            ? section.title + ": " + section.heading
            : section.title;
        const text = document.createElement("span");
        text.textContent = excerpt(section, asked);
        link.append(place, text);
        const item = document.createElement("li");
        item.append(link);
        list.append(item);
      }
      if (found.length === 0) {
        const none = document.createElement("li");
        none.textContent = "Nothing has all of these words.";
        list.append(none);
      }
    }
    input.addEventListener("focus", () => load().then(show));
    input.addEventListener("input", () => load().then(show));
    input.addEventListener("keydown", (event) => {
      if (event.key === "ArrowDown") choose(chosen + 1);
      else if (event.key === "ArrowUp") choose(chosen - 1);
      else if (event.key === "Enter") list.children[Math.max(chosen, 0)]?.querySelector("a")?.click();
      else if (event.key === "Escape") input.blur();
      else return;
      event.preventDefault();
    });
    document.addEventListener("keydown", (event) => {
      const isTyping = /^(input|textarea|select)$/i.test(document.activeElement?.tagName ?? "");
      if (event.key === "/" && !isTyping && !event.ctrlKey && !event.metaKey) {
        event.preventDefault();
        input.focus();
      }
    });
    document.addEventListener("click", (event) => {
      if (!form.contains(event.target)) list.hidden = true;
    });
    // A link to a search: page.html?q=words.
    const given = new URLSearchParams(location.search).get("q");
    if (given) {
      input.value = given;
      load().then(show);
    }
  }
  document.addEventListener("DOMContentLoaded", build);
  if (document.readyState !== "loading") build();
})();
