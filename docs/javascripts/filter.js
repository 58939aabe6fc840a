// A search field, and a choice, above each table in a `div.filter`. Material's
// document$ tells of each page that is shown.
(() => {
  function addFilter(box) {
    const rows = [...box.querySelectorAll("tbody tr")];
    const choices = JSON.parse(box.dataset.choices || "{}");
    const bar = document.createElement("div");
    bar.className = "filter-bar";
    const search = document.createElement("input");
    search.type = "search";
    search.placeholder = `Filter ${rows.length} ${box.dataset.filter}`;
    search.setAttribute("aria-label", search.placeholder);
    bar.append(search);
    const choice = document.createElement("select");
    choice.setAttribute("aria-label", "Which of them");
    choice.append(new Option("all", ""));
    for (const [label, kind] of Object.entries(choices)) choice.append(new Option(label, kind));
    if (Object.keys(choices).length) bar.append(choice);
    const count = document.createElement("span");
    count.setAttribute("role", "status");
    bar.append(count);
    box.prepend(bar);

    const text = rows.map((row) => row.cells[0].textContent.toLowerCase());
    function apply() {
      const wanted = search.value.trim().toLowerCase();
      let shown = 0;
      rows.forEach((row, i) => {
        const found = text[i].includes(wanted) &&
          (!choice.value || row.querySelector(`[data-kind="${choice.value}"]`));
        row.hidden = !found;
        shown += found ? 1 : 0;
      });
      count.textContent = shown === rows.length ? "" : `${shown} of ${rows.length}`;
    }
    search.addEventListener("input", apply);
    choice.addEventListener("change", apply);
  }

  document.addEventListener("DOMContentLoaded", () =>
    document.querySelectorAll("div.filter").forEach(addFilter));
})();
