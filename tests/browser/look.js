// What a person would stumble over on this page, as one JSON object.
(() => {
  const short = (element) => (element.textContent || "").trim().replace(/\s+/g, " ").slice(0, 60);
  const seen = (element) => {
    const box = element.getBoundingClientRect();
    return box.width > 0 && box.height > 0 && getComputedStyle(element).visibility !== "hidden";
  };
  const canvas = new OffscreenCanvas(1, 1).getContext("2d", { willReadFrequently: true });
  const rgba = (colour) => {
    canvas.clearRect(0, 0, 1, 1);
    canvas.fillStyle = "#000";
    canvas.fillStyle = colour;
    canvas.fillRect(0, 0, 1, 1);
    const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
    return [r, g, b, a / 255];
  };
  const over = (top, below) => [0, 1, 2].map((i) => top[i] * top[3] + below[i] * (1 - top[3])).concat(1);
  const light = ([r, g, b]) => {
    const part = (value) => (value /= 255) <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4;
    return 0.2126 * part(r) + 0.7152 * part(g) + 0.0722 * part(b);
  };
  const ground = (element) => {
    const layers = [];
    for (let each = element; each; each = each.parentElement) layers.push(rgba(getComputedStyle(each).backgroundColor));
    return layers.reverse().reduce((below, top) => over(top, below), [255, 255, 255, 1]);
  };
  const opacity = (element) => {
    let product = 1;
    for (let each = element; each; each = each.parentElement) product *= Number(getComputedStyle(each).opacity);
    return product;
  };

  const faint = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  let texts = 0;
  while (walker.nextNode()) {
    const element = walker.currentNode.parentElement;
    if (!walker.currentNode.data.trim() || ["STYLE", "title", "desc"].includes(element.tagName) || !seen(element)) continue;
    texts += 1;
    const style = getComputedStyle(element);
    const colour = rgba(element instanceof SVGElement ? style.fill : style.color);
    colour[3] *= opacity(element);
    const back = ground(element);
    const [high, low] = [light(over(colour, back)), light(back)].sort((a, b) => b - a);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) faint.push(`${ratio.toFixed(2)}: ${short(element)}`);
  }

  const width = document.documentElement.clientWidth;
  const wide = [];
  const cut = [];
  const scrolls = (element) => {
    for (let each = element; each; each = each.parentElement)
      if (["auto", "scroll", "hidden"].includes(getComputedStyle(each).overflowX) && each !== document.body) return true;
    return false;
  };
  for (const element of document.body.querySelectorAll("*")) {
    if (element.closest("svg") && element.tagName !== "svg") continue;
    if (!seen(element) || scrolls(element)) continue;
    const box = element.getBoundingClientRect();
    if (box.right > width + 1 || box.left < -1) wide.push(`<${element.tagName.toLowerCase()}> ${short(element)}`);
  }
  for (const element of document.body.querySelectorAll("*")) {
    const style = getComputedStyle(element);
    if (["hidden", "clip"].includes(style.overflowX) && element.scrollWidth > element.clientWidth + 1 && seen(element))
      cut.push(short(element));
  }

  const charts = [...document.querySelectorAll("figure svg")].map((svg) => {
    const frame = svg.getBoundingClientRect();
    const words = [...svg.querySelectorAll("text")].filter(seen).map((text) => ({ text, box: text.getBoundingClientRect() }));
    const meet = [];
    const outside = [];
    words.forEach(({ text, box }, index) => {
      if (box.left < frame.left - 1 || box.right > frame.right + 1 || box.top < frame.top - 1 || box.bottom > frame.bottom + 1)
        outside.push(short(text));
      for (const other of words.slice(index + 1)) {
        const across = Math.min(box.right, other.box.right) - Math.max(box.left, other.box.left);
        const down = Math.min(box.bottom, other.box.bottom) - Math.max(box.top, other.box.top);
        // Boxes are as high as the font's line; letters of lines that lie close do not touch.
        if (across > 1 && down > Math.min(box.height, other.box.height) * 0.3) meet.push(`${short(text)} | ${short(other.text)}`);
      }
    });
    const sizes = words.map(({ text }) => parseFloat(getComputedStyle(text).fontSize) * frame.width / svg.viewBox.baseVal.width);
    return {
      texts: words.map(({ text }) => text.textContent),
      meet,
      outside,
      smallest: Math.min(...sizes),
      height: frame.height,
      whole: getComputedStyle(svg.closest("figure")).breakInside,
    };
  });

  return {
    read: document.body.innerText,
    texts,
    faint: [...new Set(faint)],
    wide: wide.slice(0, 20),
    cut,
    charts,
    over: document.documentElement.scrollWidth - width,
  };
})()
