// Draws the picture of the page and lets pointer and keyboard move through time and GPUs.
(async () => {
  "use strict";
  const spec = JSON.parse(document.getElementById("specification").textContent);
  const host = document.getElementById("picture");
  const param = (name) => spec.params.find((each) => each.name === name);
  const full = { x: [...param("x_domain").value], y: [...param("y_domain").value] };
  const seen = { x: [...full.x], y: [...full.y] };
  const margin = 150; // names of nodes, numbers of GPUs and the padding around the grid
  const columnWidth = 900; // two plans stand side by side where each still gets this much
  let view = null;

  const plans = Number(host.dataset.plans);

  function laidOut() {
    const copy = structuredClone(spec);
    const room = host.clientWidth;
    const beside = plans > 1 && room >= plans * columnWidth;
    const width = Math.max(360, Math.floor(room / (beside ? plans : 1)) - margin);
    if (beside) {
      copy.hconcat = copy.vconcat;
      delete copy.vconcat;
    }
    for (const column of plans > 1 ? copy.hconcat || copy.vconcat : [copy]) {
      for (const part of column.vconcat) part.width = width;
    }
    for (const each of copy.params) {
      if (each.name === "plot_width") each.value = width;
      if (each.name === "x_domain") each.value = [...seen.x];
      if (each.name === "y_domain") each.value = [...seen.y];
    }
    return copy;
  }

  async function draw() {
    const options = { renderer: "svg", actions: false, ast: true, tooltip: { theme: "custom" } };
    if (view) view.finalize();
    ({ view } = await vegaEmbed(host, laidOut(), options));
  }

  let frame = 0;
  function show() {
    if (frame || !view) return;
    frame = requestAnimationFrame(() => {
      frame = 0;
      view.signal("x_domain", [...seen.x]).signal("y_domain", [...seen.y]).runAsync();
    });
  }

  function clamped(low, span, [least, most]) {
    const start = Math.min(Math.max(low, least), most - span);
    return [start, start + span];
  }

  function zoom(axis, factor, at = 0.5) {
    const [low, high] = seen[axis];
    const whole = full[axis][1] - full[axis][0];
    const span = Math.min(whole, Math.max((high - low) * factor, whole / 5000));
    seen[axis] = clamped(low + at * (high - low - span), span, full[axis]);
    show();
  }

  function pan(axis, share) {
    const [low, high] = seen[axis];
    seen[axis] = clamped(low + share * (high - low), high - low, full[axis]);
    show();
  }

  function reset() {
    seen.x = [...full.x];
    seen.y = [...full.y];
    show();
  }

  function plotUnder(event) {
    const inside = (box) =>
      event.clientX >= box.left && event.clientX <= box.right && event.clientY >= box.top && event.clientY <= box.bottom;
    const boxes = [...host.querySelectorAll("path.background")].map((path) => path.getBoundingClientRect());
    const found = boxes.filter((box) => box.width > 0 && inside(box)).sort((a, b) => a.width * a.height - b.width * b.height);
    return found[0] || null;
  }

  const actions = {
    "time-in": () => zoom("x", 0.6), "time-out": () => zoom("x", 1 / 0.6),
    "gpus-in": () => zoom("y", 0.6), "gpus-out": () => zoom("y", 1 / 0.6), reset,
  };
  for (const [id, action] of Object.entries(actions)) document.getElementById(id).addEventListener("click", action);

  const keys = {
    ArrowLeft: () => pan("x", -0.2), ArrowRight: () => pan("x", 0.2), ArrowUp: () => pan("y", -0.2), ArrowDown: () => pan("y", 0.2),
    "+": actions["time-in"], "=": actions["time-in"], "-": actions["time-out"],
    "]": actions["gpus-in"], "[": actions["gpus-out"], 0: reset,
  };
  host.addEventListener("keydown", (event) => {
    const action = event.ctrlKey || event.metaKey || event.altKey ? null : keys[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });

  host.addEventListener("wheel", (event) => {
    const plot = event.ctrlKey || event.metaKey || event.shiftKey ? plotUnder(event) : null;
    if (!plot) return; // without a modifier the wheel scrolls the page
    event.preventDefault();
    const factor = Math.exp((event.deltaY || event.deltaX) / 400);
    if (event.shiftKey) zoom("y", factor, (event.clientY - plot.top) / plot.height);
    else zoom("x", factor, (event.clientX - plot.left) / plot.width);
  }, { passive: false });

  let drag = null;
  host.addEventListener("pointerdown", (event) => {
    const plot = event.button === 0 ? plotUnder(event) : null;
    if (plot) drag = { plot, x: event.clientX, y: event.clientY };
  });
  window.addEventListener("pointermove", (event) => {
    if (!drag) return;
    pan("x", (drag.x - event.clientX) / drag.plot.width);
    pan("y", (drag.y - event.clientY) / drag.plot.height);
    drag.x = event.clientX;
    drag.y = event.clientY;
  });
  window.addEventListener("pointerup", () => { drag = null; });
  host.addEventListener("dblclick", reset);

  let waiting = 0;
  let drawnWidth = host.clientWidth;
  window.addEventListener("resize", () => {
    clearTimeout(waiting);
    waiting = setTimeout(() => {
      if (host.clientWidth === drawnWidth) return;
      drawnWidth = host.clientWidth;
      draw();
    }, 200);
  });

  host.classList.add("draggable");
  await draw();
  document.documentElement.dataset.drawn = "yes";
})();
