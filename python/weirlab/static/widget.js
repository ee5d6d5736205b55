// node_modules/uplot/dist/uPlot.min.css?inline
var e = {
	light: {
		paper: "#ffffff",
		ink: "#1b1f24",
		soft: "#57606a",
		grid: "#e3e6ea",
		shade: "#0072b2",
		alarm: "#e69f00",
		colours: /* @__PURE__ */ "#0072b2.#c74a00.#00805a.#a3418a.#8a6100.#b0122f.#4b4fc4.#5f6670.#00778a.#7a4a2b.#6a8f2c.#b9770e.#d0547f.#3d5a80.#8e6bbf.#b03a2e.#2a9d8f.#84909d.#a0703a.#574b90.#630d31.#1f12d8.#e012d8.#079a00.#2b3f04.#ee1210.#7a10c8.#c859de.#f0127a.#073b4c".split(".")
	},
	dark: {
		paper: "#14171b",
		ink: "#e8eaed",
		soft: "#a5adb7",
		grid: "#2c323a",
		shade: "#5db4ec",
		alarm: "#e69f00",
		colours: /* @__PURE__ */ "#5db4ec.#ff9254.#3fc79b.#e694cd.#e0b040.#ff7b8a.#a5a8ff.#a5adb7.#45c5d6.#cfa183.#a8cf66.#f0b352.#f28fb1.#8fb0dd.#c3a6ee.#f0766a.#6fd6c9.#b8c2cc.#d9ac78.#a99cf0.#d9a3b4.#5a78ff.#ff3ad6.#32e05a.#c7f006.#ff4a3d.#b05cff.#e6a6f5.#ff5fa8.#4fd0e8".split(".")
	},
	limits: [
		{
			name: "none",
			doc: "No rule has bound it yet."
		},
		{
			name: "equation",
			doc: "TFRC: the throughput equation (RFC 5348 §3.1)."
		},
		{
			name: "twice_receive_rate",
			doc: "TFRC: twice the receive rate that the receiver reported (RFC 5348 §4.3)."
		},
		{
			name: "initial_window",
			doc: "TFRC: the initial window per round-trip time (RFC 5348 §4.2)."
		},
		{
			name: "one_packet_per_rtt",
			doc: "TFRC: one packet per round-trip time, the floor of slow start (RFC 3448 §4.3)."
		},
		{
			name: "nofeedback_halving",
			doc: "TFRC: the nofeedback timer expired (RFC 5348 §4.4). NADA: feedback is missing (RFC 8888 §5)."
		},
		{
			name: "minimum_rate",
			doc: "TFRC: one packet in 64 seconds (RFC 5348 §4.3)."
		},
		{
			name: "oscillation_reduction",
			doc: "TFRC: the round-trip time increased, and with it the time between packets (RFC 5348 §4.5)."
		},
		{
			name: "data_limited",
			doc: "TFRC: losses in a data-limited interval (RFC 5348 §4.3)."
		},
		{
			name: "slow_start",
			doc: "Slow start: the rate or window doubles once a round-trip time."
		},
		{
			name: "congestion_avoidance",
			doc: "Congestion avoidance: additive increase or the controller's equivalent."
		},
		{
			name: "recovery",
			doc: "Recovery: reduced after a loss or an ECN mark."
		},
		{
			name: "persistent_congestion",
			doc: "Persistent congestion: the window starts again from its minimum (RFC 9002 §7.6)."
		},
		{
			name: "timeout",
			doc: "A retransmission timeout."
		},
		{
			name: "minimum_window",
			doc: "The minimum window (RFC 9002 §7.2)."
		},
		{
			name: "application_limited",
			doc: "The application had no data to send."
		},
		{
			name: "max_inflight",
			doc: "BBR: the volume that the model of the path needs in flight (draft-bbr §5.6.4.2)."
		},
		{
			name: "inflight_longterm",
			doc: "BBR: the volume at which a probe for bandwidth lost too much (draft-bbr §2.9.2)."
		},
		{
			name: "inflight_shortterm",
			doc: "BBR: the volume that losses since the last probe allow (draft-bbr §2.9.2)."
		},
		{
			name: "probe_rtt",
			doc: "BBR: little is in flight, so that the round-trip time can be measured (draft-bbr §5.3.4)."
		},
		{
			name: "flow_control",
			doc: "The receiver's flow control."
		},
		{
			name: "accelerated_ramp_up",
			doc: "NADA: the rate ramps up from the received rate, without losses and queueing delay (RFC 8698 §4.3)."
		},
		{
			name: "gradual_update",
			doc: "NADA: the rate follows the congestion signal (RFC 8698 §4.3)."
		},
		{
			name: "minimum_media_rate",
			doc: "NADA: RMIN (RFC 8698 §4.3)."
		},
		{
			name: "maximum_media_rate",
			doc: "NADA: RMAX (RFC 8698 §4.3)."
		},
		{
			name: "minimum_interval",
			doc: "TFRC-SP: the least time between two packets, ten milliseconds, which is longer than the s/X of the allowed rate (RFC 4828 §3, RFC 5622 §5)."
		}
	],
	limitWords: {
		twice_receive_rate: "2·X_recv",
		initial_window: "W_init/RTT",
		one_packet_per_rtt: "s/RTT",
		nofeedback_halving: "halved: no feedback",
		minimum_rate: "minimum: s/64 s",
		slow_start: "doubled: slow start"
	},
	bounds: {
		application: 0,
		window: 3,
		rate: 6,
		minimum_interval: 8,
		pacer: 4,
		receiver_credit: 5,
		send_buffer: 1,
		anti_amplification: 2,
		nothing: 7
	},
	firstBound: 10,
	firstLimit: 20,
	beside: 7,
	logFrom: 50
}, t = 64, n = class {
	x;
	y;
	low = [];
	high = [];
	built = !1;
	constructor(e, t) {
		this.x = e, this.y = t;
	}
	get length() {
		return this.x.length;
	}
	from(e) {
		let [t, n] = [0, this.x.length];
		for (; t < n;) {
			let r = t + n >>> 1;
			this.x[r] < e ? t = r + 1 : n = r;
		}
		return t;
	}
	after(e) {
		let [t, n] = [0, this.x.length];
		for (; t < n;) {
			let r = t + n >>> 1;
			this.x[r] <= e ? t = r + 1 : n = r;
		}
		return t;
	}
	at(e) {
		let t = this.after(e) - 1;
		return t < 0 ? NaN : this.y[t];
	}
	build() {
		this.built = !0;
		let [e, n] = [this.y, this.y];
		for (; e.length > t;) {
			let r = Math.ceil(e.length / t), [i, a] = [new Float64Array(r), new Float64Array(r)];
			for (let o = 0; o < r; o++) {
				let [r, s] = [1e400, -1e400], c = Math.min(e.length, (o + 1) * t);
				for (let i = o * t; i < c; i++) e[i] < r && (r = e[i]), n[i] > s && (s = n[i]);
				i[o] = r, a[o] = s;
			}
			this.low.push(i), this.high.push(a), [e, n] = [i, a];
		}
	}
	extent(e, n) {
		this.built || this.build();
		let [r, i] = [1e400, -1e400], a = (e, t, n) => {
			let a = e < 0 ? this.y : this.low[e], o = e < 0 ? this.y : this.high[e];
			for (let e = t; e < n; e++) a[e] < r && (r = a[e]), o[e] > i && (i = o[e]);
		}, o = (e, n, r) => {
			if (!(e + 1 < this.low.length) || r - n <= 128) return a(e, n, r);
			let [i, s] = [Math.ceil(n / t), Math.floor(r / t)];
			a(e, n, i * t), o(e + 1, i, s), a(e, s * t, r);
		};
		return o(-1, e, n), [r, i];
	}
}, r = 4e3;
function i(e, t, [n, r], i, o, s = r) {
	let { x: c, y: l } = e;
	if (c.length === 0 || !(r > n)) return;
	if (t === "dots") return a(e, n, r, o);
	let u = Math.max(0, e.after(n) - 1), d = Math.min(c.length, e.from(r) + 1), f = NaN, p = (e, n) => {
		Number.isNaN(n) ? !Number.isNaN(f) && t === "step" && o.line(e, f) : Number.isNaN(f) ? o.move(e, n) : (t === "step" && n !== f && o.line(e, f), o.line(e, n)), f = n;
	};
	if (d - u <= i * 4) for (let e = u; e < d; e++) p(c[e], l[e]);
	else {
		let t = (r - n) / i;
		p(c[u], l[u]);
		let a = u + 1;
		for (; a < d;) {
			let r = Math.floor((c[a] - n) / t), i = e.from(n + (r + 1) * t);
			if (i = Math.min(d, Math.max(a + 1, i)), i - a <= 4) for (let e = a; e < i; e++) p(c[e], l[e]);
			else {
				let [t, n] = e.extent(a, i), r = c[a];
				p(r, l[a]), t <= n && (Number.isNaN(f) ? o.move(r, t) : o.line(r, t), o.line(r, n), f = n), p(c[i - 1], l[i - 1]);
			}
			a = i;
		}
	}
	if (t === "step" && d === c.length && !Number.isNaN(f)) {
		let e = Math.min(r, s);
		e > c[c.length - 1] && o.line(e, f);
	}
}
function a(e, t, n, i) {
	let [a, o] = [e.from(t), e.after(n)], s = Math.max(1, Math.ceil((o - a) / r));
	for (let t = a; t < o; t += s) {
		if (s === 1) {
			Number.isNaN(e.y[t]) || i.move(e.x[t], e.y[t]);
			continue;
		}
		let n = Math.min(o, t + s), [r, a] = e.extent(t, n);
		r > a || (i.move(e.x[t], r), a !== r && i.move(e.x[t], a));
	}
}
// src/plots/figures.ts
var o = 10, s = 9, c = 5, l = 8, u = (e, t) => e.tables.find((e) => e.name === t);
function d(e) {
	let t = e.tables.filter(({ name: e }) => /^(flows|intervals)\//.test(e));
	return [...new Set(t.map(({ name: e }) => e.slice(e.indexOf("/") + 1)))];
}
var f = (e, t) => {
	let r = e?.numbers[t], i = e?.numbers.time_s;
	return !r || !i || !p(r) ? null : new n(i, r);
};
function p(e) {
	for (let t of e) if (!Number.isNaN(t)) return !0;
	return !1;
}
function m(e, t) {
	let r = f(e, t);
	if (!r || r.length === 0) return r;
	let { x: i, y: a } = r, o = i.length > 1 ? i[1] - i[0] : i[0], s = new Float64Array(i.length + 1), c = new Float64Array(i.length + 1);
	for (let e = 0; e < i.length; e++) s[e] = Math.max(0, i[e] - o);
	return s[i.length] = i[i.length - 1], c.set(a), c[i.length] = a[a.length - 1], new n(s, c);
}
var h = new Map(e.limits.map(({ name: e }, t) => [e, t]));
function g(t, n) {
	let r = e.limitWords;
	return n && r[t] || t.replaceAll("_", " ");
}
function _(t, n) {
	let r = h.get(t);
	if (r === void 0) return null;
	let i = (r + Math.floor(r / 10) + 3) % 4;
	return {
		label: g(t, n),
		colour: e.firstLimit + r % 10,
		dash: i
	};
}
function v(t) {
	let n = e.bounds[t];
	return n === void 0 ? null : {
		label: t.replaceAll("_", " "),
		colour: e.firstBound + n,
		dash: 0
	};
}
var y = (e, t) => e ? {
	codes: e.codes,
	kinds: e.words.map(t)
} : null, b = (e) => Number(e.summary.run.duration_s);
function x(e, t) {
	let n = e.summary.flows[t], r = (u(e, `flows/${t}`) ?? u(e, `intervals/${t}`))?.numbers.time_s?.at(-1);
	return n?.completion_time_s && r !== void 0 ? r : b(e);
}
function S(e) {
	let t = (t) => {
		let n = e.links[t];
		return [
			+((n.queue_drops ?? 0) > 0 || (n.marks ?? 0) > 0),
			Math.round((n.utilisation ?? 0) * 100),
			n.drops ?? 0,
			n.queue_bytes?.max ?? 0
		];
	};
	return Object.keys(e.links).sort((e, n) => {
		let [r, i] = [t(e), t(n)];
		for (let e = 0; e < r.length; e++) if (r[e] !== i[e]) return i[e] - r[e];
		return e < n ? -1 : 1;
	});
}
function C(e, t) {
	let [r, i] = [e?.numbers.time_s, e?.numbers[t]];
	if (!r || !i) return null;
	let a = [], o = 0;
	for (let e = 0; e < i.length; e++) i[e] > o && a.push(r[e]), o = i[e];
	if (!a.length) return null;
	let s = Float64Array.from(a);
	return new n(s, new Float64Array(s.length));
}
var w = [
	A,
	te,
	ne,
	re,
	ie,
	ae,
	oe
];
function T(e, t, n = !1) {
	let r = d(e.run), i = {
		shown: e,
		flows: t.flows.length ? r.filter((e) => t.flows.includes(e)) : r.slice(0, 8),
		together: n
	}, a = w.map((e) => e(i)).filter((e) => e !== null), o = a[0];
	return o && !n && (o.bands = j(i)), a;
}
function E(e, t, n, r, i) {
	return i.length ? {
		id: e,
		title: t,
		quantity: n,
		unit: r,
		layers: i,
		bands: [],
		marks: [],
		levels: [],
		log: D(i),
		note: void 0
	} : null;
}
function D(t) {
	let [n, r] = [1e400, 0];
	for (let { curve: e, rug: i } of t) {
		if (i) continue;
		let [, t] = e.extent(0, e.length);
		t > r && (r = t);
		for (let t of e.y) t > 0 && t < n && (n = t);
	}
	return r > n * e.logFrom;
}
var O = ({ shown: e, together: t }, n) => (t ? e.number : n) % o;
function ee({ shown: e, flows: t, together: n }, r, i = "") {
	return [
		n ? e.name : "",
		t.length > 1 || !n ? r : "",
		i
	].filter(Boolean).join(" · ");
}
function k(e, t) {
	return e.flows.flatMap((n, r) => {
		let i = t(n);
		if (!i) return [];
		let a = O(e, r), o = e.together ? r % 4 : 0;
		return [{
			name: ee(e, n),
			colour: a,
			curve: i,
			course: "step",
			dash: o,
			untilS: x(e.shown.run, n)
		}];
	});
}
function A(t) {
	let { run: n } = t.shown, r = (e) => u(n, `flows/${e}`), i = k(t, (e) => f(r(e), "allowed_rate_bps")), a = E("rate", "Allowed rate X", "allowed rate X", "bit/s", i);
	if (!a) return null;
	if (a.log = D(i), i.length === 1 && !t.together) {
		let a = t.flows.find((e) => f(r(e), "allowed_rate_bps")), o = y(r(a).words.limit, (e) => _(e, !0));
		o && (i[0].categories = o);
		let s = (t, o, s) => {
			let c = f(r(a), t);
			c && i.push({
				name: o,
				colour: e.beside,
				curve: c,
				course: "step",
				dash: s,
				beside: !0,
				untilS: x(n, a)
			});
		};
		s("receive_rate_bps", "X_recv", 2), s("equation_rate_bps", "X_calc", 1);
	}
	return a;
}
function te(t) {
	let { run: n } = t.shown, r = (e) => u(n, `flows/${e}`), i = k(t, (e) => f(r(e), "cwnd_bytes")), a = E("window", "Congestion window", "window", "bytes", i);
	if (!a) return null;
	if (a.log = !1, i.length === 1 && !t.together) {
		let a = t.flows.find((e) => f(r(e), "cwnd_bytes")), [, o] = i[0].curve.extent(0, i[0].curve.length), s = (t, s, c) => {
			let l = f(r(a), t);
			l && l.extent(0, l.length)[1] <= o * 2 && i.push({
				name: s,
				colour: e.beside,
				curve: l,
				course: "step",
				dash: c,
				beside: !0,
				untilS: x(n, a)
			});
		};
		s("bytes_in_flight", "bytes in flight", 0), s("ssthresh_bytes", "ssthresh", 1);
	}
	return a;
}
function ne(e) {
	let t = E("goodput", "Goodput", "goodput", "bit/s", k(e, (t) => m(u(e.shown.run, `intervals/${t}`), "goodput_bps")));
	return t && (t.log = !1), t;
}
function re(t) {
	let n = (e) => u(t.shown.run, `flows/${e}`), r = k(t, (e) => f(n(e), "smoothed_rtt_s")), i = E("rtt", "Round-trip time", "round-trip time", "s", r);
	if (i && r.length === 1 && !t.together) {
		let i = f(n(t.flows.find((e) => f(n(e), "smoothed_rtt_s"))), "rtt_s");
		r[0].name = `${r[0].name} · smoothed`, i && r.push({
			name: "samples",
			colour: e.beside,
			curve: i,
			course: "dots",
			beside: !0
		});
	}
	return i;
}
function ie(e) {
	return E("delay", "One-way delay", "one-way delay", "s", k(e, (t) => m(u(e.shown.run, `intervals/${t}`), "one_way_delay_s")));
}
function ae(e) {
	let { run: t } = e.shown;
	for (let n of S(t.summary)) {
		let r = u(t, `links/${n}`), i = f(r, "queue_bytes");
		if (!i || i.extent(0, i.length)[1] === 0) continue;
		let a = [{
			name: e.together ? e.shown.name : "queue",
			colour: e.together ? e.shown.number : s,
			curve: i,
			course: "step",
			untilS: b(t)
		}], o = C(r, "drops"), d = C(r, "marks");
		o && !e.together && a.push({
			name: "drops",
			colour: c,
			curve: o,
			course: "dots",
			rug: !0
		}), d && !e.together && a.push({
			name: "marks",
			colour: l,
			curve: d,
			course: "dots",
			rug: !0
		});
		let p = E("queue", `Queue of ${n}`, "queue", "bytes", a);
		return p && (p.log = !1), p;
	}
	return null;
}
function oe(e) {
	let t = E("silence", "Music that was not heard so far", "silence", "s", k(e, (t) => f(u(e.shown.run, `gaps/${t}`), "silence_s")));
	return t && (t.log = !1), t;
}
function j({ shown: { run: e }, flows: t }) {
	let n = t.length > 1;
	return t.slice(0, 4).flatMap((t) => {
		let r = u(e, `flows/${t}`), i = r?.numbers.time_s;
		if (!r || !i?.length) return [];
		let a = !!f(r, "allowed_rate_bps"), o = (a, o) => {
			let s = r.words[a], c = y(s, o), l = a === "bound" || s?.words.some((e) => e !== "" && e !== "none");
			return c && l ? [{
				name: a,
				subject: n ? t : "",
				x: i,
				categories: c,
				untilS: x(e, t)
			}] : [];
		};
		return [...o("limit", (e) => _(e, a)), ...o("bound", v)];
	});
}
// src/ui/theme.ts
var M = () => matchMedia("(prefers-color-scheme: dark)");
function N() {
	let e = document.documentElement.dataset.theme;
	return e === "light" || e === "dark" ? e : M().matches ? "dark" : "light";
}
var se = /* @__PURE__ */ new Set();
function P(e) {
	return se.add(e), () => se.delete(e);
}
function F(t = N()) {
	return e[t];
}
function ce(t, n = N()) {
	let r = e[n].colours, { firstLimit: i } = e;
	return r[t < i ? t : i + (t - i) % (r.length - i)] ?? r[0];
}
// src/ui/dom.ts
function le(e, t) {
	for (let [n, r] of Object.entries(t)) r != null && r !== !1 && (n.startsWith("on") && typeof r == "function" ? e.addEventListener(n.slice(2), r) : n === "value" && "value" in e ? e.value = String(r) : e.setAttribute(n, r === !0 ? "" : String(r)));
}
function ue(e, t) {
	for (let n of t) n != null && n !== !1 && e.append(n instanceof Node ? n : String(n));
}
function I(e, t = {}, ...n) {
	let r = document.createElement(e);
	return le(r, t), ue(r, n), r;
}
function de(e, t = 0) {
	let n = I("i", {
		class: t ? "swatch dashed" : "swatch",
		"aria-hidden": "true"
	});
	return n.style.setProperty("--colour", e), n;
}
// node_modules/uplot/dist/uPlot.esm.js
var fe = !0, pe = "uplot", me = "u-hz", he = "u-vt", ge = "u-title", _e = "u-wrap", ve = "u-under", ye = "u-over", be = "u-axis", xe = "u-off", Se = "u-select", Ce = "u-cursor-x", we = "u-cursor-y", Te = "u-cursor-pt", Ee = "u-legend", De = "u-live", Oe = "u-inline", ke = "u-series", Ae = "u-marker", je = "u-label", Me = "u-value", Ne = "width", Pe = "height", Fe = "top", Ie = "bottom", Le = "left", Re = "right", ze = "#000", Be = "#0000", Ve = "mousemove", He = "mousedown", Ue = "mouseup", We = "mouseenter", Ge = "mouseleave", Ke = "dblclick", qe = "resize", Je = "scroll", Ye = "change", Xe = "dppxchange", Ze = "--", Qe = typeof window < "u", $e = Qe ? document : null, et = Qe ? window : null, tt = Qe ? navigator : null, L, nt;
function rt() {
	let e = devicePixelRatio;
	L != e && (L = e, nt && ht(Ye, nt, rt), nt = matchMedia(`(min-resolution: ${L - .001}dppx) and (max-resolution: ${L + .001}dppx)`), mt(Ye, nt, rt), et.dispatchEvent(new CustomEvent(Xe)));
}
function it(e, t) {
	if (t != null) {
		let n = e.classList;
		!n.contains(t) && n.add(t);
	}
}
function at(e, t) {
	let n = e.classList;
	n.contains(t) && n.remove(t);
}
function R(e, t, n) {
	e.style[t] = n + "px";
}
function ot(e, t, n, r) {
	let i = $e.createElement(e);
	return t != null && it(i, t), n?.insertBefore(i, r), i;
}
function st(e, t) {
	return ot("div", e, t);
}
var ct = /* @__PURE__ */ new WeakMap();
function lt(e, t, n, r, i) {
	let a = "translate(" + t + "px," + n + "px)";
	a != ct.get(e) && (e.style.transform = a, ct.set(e, a), t < 0 || n < 0 || t > r || n > i ? it(e, xe) : at(e, xe));
}
var ut = /* @__PURE__ */ new WeakMap();
function dt(e, t, n) {
	let r = t + n;
	r != ut.get(e) && (ut.set(e, r), e.style.background = t, e.style.borderColor = n);
}
var z = /* @__PURE__ */ new WeakMap();
function ft(e, t, n, r) {
	let i = t + "" + n;
	i != z.get(e) && (z.set(e, i), e.style.height = n + "px", e.style.width = t + "px", e.style.marginLeft = r ? -t / 2 + "px" : 0, e.style.marginTop = r ? -n / 2 + "px" : 0);
}
var B = { passive: !0 }, pt = {
	...B,
	capture: !0
};
function mt(e, t, n, r) {
	t.addEventListener(e, n, r ? pt : B);
}
function ht(e, t, n, r) {
	t.removeEventListener(e, n, B);
}
Qe && rt();
function gt(e, t, n, r) {
	let i;
	n ||= 0, r ||= t.length - 1;
	let a = r <= 0x7fffffff;
	for (; r - n > 1;) i = a ? n + r >> 1 : Lt((n + r) / 2), t[i] < e ? n = i : r = i;
	return e - t[n] <= t[r] - e ? n : r;
}
function _t(e) {
	return (t, n, r) => {
		let i = -1, a = -1;
		for (let a = n; a <= r; a++) if (e(t[a])) {
			i = a;
			break;
		}
		for (let i = r; i >= n; i--) if (e(t[i])) {
			a = i;
			break;
		}
		return [i, a];
	};
}
var vt = (e) => e != null, yt = (e) => e != null && e > 0, bt = _t(vt), xt = _t(yt);
function St(e, t, n, r = 0, i = !1) {
	let a = i ? xt : bt, o = i ? yt : vt;
	[t, n] = a(e, t, n);
	let s = e[t], c = e[t];
	if (t > -1) {
		if (r == 1) s = e[t], c = e[n];
		else if (r == -1) s = e[n], c = e[t];
		else for (let r = t; r <= n; r++) {
			let t = e[r];
			o(t) && (t < s ? s = t : t > c && (c = t));
		}
	}
	return [s ?? H, c ?? -H];
}
function Ct(e, t, n, r) {
	let i = Ut(e), a = Ut(t);
	e == t && (i == -1 ? (e *= n, t /= n) : (e /= n, t *= n));
	let o = n == 10 ? Wt : Gt, s = i == 1 ? Lt : zt, c = a == 1 ? zt : Lt, l = s(o(It(e))), u = c(o(It(t))), d = Ht(n, l), f = Ht(n, u);
	return n == 10 && (l < 0 && (d = W(d, -l)), u < 0 && (f = W(f, -u))), r || n == 2 ? (e = d * i, t = f * a) : (e = cn(e, d), t = sn(t, f)), [e, t];
}
function wt(e, t, n, r) {
	let i = Ct(e, t, n, r);
	return e == 0 && (i[0] = 0), t == 0 && (i[1] = 0), i;
}
var Tt = .1, Et = {
	mode: 3,
	pad: Tt
}, Dt = {
	pad: 0,
	soft: null,
	mode: 0
}, Ot = {
	min: Dt,
	max: Dt
};
function kt(e, t, n, r) {
	return vn(n) ? jt(e, t, n) : (Dt.pad = n, Dt.soft = r ? 0 : null, Dt.mode = r ? 3 : 0, jt(e, t, Ot));
}
function V(e, t) {
	return e ?? t;
}
function At(e, t, n) {
	for (t = V(t, 0), n = V(n, e.length - 1); t <= n;) {
		if (e[t] != null) return !0;
		t++;
	}
	return !1;
}
function jt(e, t, n) {
	let r = n.min, i = n.max, a = V(r.pad, 0), o = V(i.pad, 0), s = V(r.hard, -H), c = V(i.hard, H), l = V(r.soft, H), u = V(i.soft, -H), d = V(r.mode, 0), f = V(i.mode, 0), p = t - e, m = Wt(p), h = Vt(It(e), It(t)), g = It(Wt(h) - m);
	(p < 1e-24 || g > 10) && (p = 0, (e == 0 || t == 0) && (p = 1e-24, d == 2 && l != H && (a = 0), f == 2 && u != -H && (o = 0)));
	let _ = p || h || 1e3, v = Ht(10, Lt(Wt(_))), y = W(cn(e - _ * (p == 0 ? e == 0 ? .1 : 1 : a), v / 10), 24), b = e >= l && (d == 1 || d == 3 && y <= l || d == 2 && y >= l) ? l : H, x = Vt(s, y < b && e >= b ? b : Bt(b, y)), S = W(sn(t + _ * (p == 0 ? t == 0 ? .1 : 1 : o), v / 10), 24), C = t <= u && (f == 1 || f == 3 && S >= u || f == 2 && S <= u) ? u : -H, w = Bt(c, S > C && t <= C ? C : Vt(C, S));
	return x == w && x == 0 && (w = 100), [x, w];
}
var Mt = new Intl.NumberFormat(Qe ? tt.language : "en-US"), Nt = (e) => Mt.format(e), Pt = Math, Ft = Pt.PI, It = Pt.abs, Lt = Pt.floor, Rt = Pt.round, zt = Pt.ceil, Bt = Pt.min, Vt = Pt.max, Ht = Pt.pow, Ut = Pt.sign, Wt = Pt.log10, Gt = Pt.log2, Kt = (e, t = 1) => Pt.sinh(e) * t, qt = (e, t = 1) => Pt.asinh(e / t), H = 1e400;
function Jt(e) {
	return (Wt((e ^ e >> 31) - (e >> 31)) | 0) + 1;
}
function Yt(e, t, n) {
	return Bt(Vt(e, t), n);
}
function Xt(e) {
	return typeof e == "function";
}
function U(e) {
	return Xt(e) ? e : () => e;
}
var Zt = () => {}, Qt = (e) => e, $t = (e, t) => t, en = (e) => null, tn = (e) => !0, nn = (e, t) => e == t, rn = /\.\d*?(?=9{6,}|0{6,})/gm, an = (e) => {
	if (hn(e) || ln.has(e)) return e;
	let t = `${e}`, n = t.match(rn);
	if (n == null) return e;
	let r = n[0].length - 1;
	if (t.indexOf("e-") != -1) {
		let [e, n] = t.split("e");
		return +`${an(e)}e${n}`;
	}
	return W(e, r);
};
function on(e, t) {
	return an(W(an(e / t)) * t);
}
function sn(e, t) {
	return an(zt(an(e / t)) * t);
}
function cn(e, t) {
	return an(Lt(an(e / t)) * t);
}
function W(e, t = 0) {
	if (hn(e)) return e;
	let n = 10 ** t;
	return Rt(e * n * (1 + 2 ** -52)) / n;
}
var ln = /* @__PURE__ */ new Map();
function un(e) {
	return (("" + e).split(".")[1] || "").length;
}
function G(e, t, n, r) {
	let i = [], a = r.map(un);
	for (let o = t; o < n; o++) {
		let t = It(o), n = W(Ht(e, o), t);
		for (let s = 0; s < r.length; s++) {
			let c = e == 10 ? +`${r[s]}e${o}` : r[s] * n, l = (o >= 0 ? 0 : t) + (o >= a[s] ? 0 : a[s]), u = e == 10 ? c : W(c, l);
			i.push(u), ln.set(u, l);
		}
	}
	return i;
}
var dn = {}, fn = [], pn = [null, null], mn = Array.isArray, hn = Number.isInteger, gn = (e) => e === void 0;
function _n(e) {
	return typeof e == "string";
}
function vn(e) {
	let t = !1;
	if (e != null) {
		let n = e.constructor;
		t = n == null || n == Object;
	}
	return t;
}
function yn(e) {
	return typeof e == "object" && !!e;
}
var bn = Object.getPrototypeOf(Uint8Array), xn = "__proto__";
function Sn(e, t = vn) {
	let n;
	if (mn(e)) {
		let r = e.find((e) => e != null);
		if (mn(r) || t(r)) {
			n = Array(e.length);
			for (let r = 0; r < e.length; r++) n[r] = Sn(e[r], t);
		} else n = e.slice();
	} else if (e instanceof bn) n = e.slice();
	else if (t(e)) {
		n = {};
		for (let r in e) r != xn && (n[r] = Sn(e[r], t));
	} else n = e;
	return n;
}
function Cn(e) {
	let t = arguments;
	for (let n = 1; n < t.length; n++) {
		let r = t[n];
		for (let t in r) t != xn && (vn(e[t]) ? Cn(e[t], Sn(r[t])) : e[t] = Sn(r[t]));
	}
	return e;
}
var wn = 0, Tn = 1, En = 2;
function Dn(e, t, n) {
	for (let r = 0, i, a = -1; r < t.length; r++) {
		let o = t[r];
		if (o > a) {
			for (i = o - 1; i >= 0 && e[i] == null;) e[i--] = null;
			for (i = o + 1; i < n && e[i] == null;) e[a = i++] = null;
		}
	}
}
var On = typeof queueMicrotask > "u" ? (e) => Promise.resolve().then(e) : queueMicrotask;
function kn(e) {
	let t = e[0], n = t.length, r = Array(n);
	for (let e = 0; e < r.length; e++) r[e] = e;
	r.sort((e, n) => t[e] - t[n]);
	let i = [];
	for (let t = 0; t < e.length; t++) {
		let a = e[t], o = Array(n);
		for (let e = 0; e < n; e++) o[e] = a[r[e]];
		i.push(o);
	}
	return i;
}
function An(e) {
	let t = e[0][0], n = t.length;
	for (let r = 1; r < e.length; r++) {
		let i = e[r][0];
		if (i.length != n) return !1;
		if (i != t) {
			for (let e = 0; e < n; e++) if (i[e] != t[e]) return !1;
		}
	}
	return !0;
}
function jn(e, t = 100) {
	let n = e.length;
	if (n <= 1) return !0;
	let r = 0, i = n - 1;
	for (; r <= i && e[r] == null;) r++;
	for (; i >= r && e[i] == null;) i--;
	if (i <= r) return !0;
	let a = Vt(1, Lt((i - r + 1) / t));
	for (let t = e[r], n = r + a; n <= i; n += a) {
		let r = e[n];
		if (r != null) {
			if (r <= t) return !1;
			t = r;
		}
	}
	return !0;
}
var Mn = [
	"January",
	"February",
	"March",
	"April",
	"May",
	"June",
	"July",
	"August",
	"September",
	"October",
	"November",
	"December"
], Nn = [
	"Sunday",
	"Monday",
	"Tuesday",
	"Wednesday",
	"Thursday",
	"Friday",
	"Saturday"
];
function Pn(e) {
	return e.slice(0, 3);
}
var Fn = Nn.map(Pn), In = {
	MMMM: Mn,
	MMM: Mn.map(Pn),
	WWWW: Nn,
	WWW: Fn
};
function K(e) {
	return (e < 10 ? "0" : "") + e;
}
function Ln(e) {
	return (e < 10 ? "00" : e < 100 ? "0" : "") + e;
}
var Rn = {
	YYYY: (e) => e.getFullYear(),
	YY: (e) => (e.getFullYear() + "").slice(2),
	MMMM: (e, t) => t.MMMM[e.getMonth()],
	MMM: (e, t) => t.MMM[e.getMonth()],
	MM: (e) => K(e.getMonth() + 1),
	M: (e) => e.getMonth() + 1,
	DD: (e) => K(e.getDate()),
	D: (e) => e.getDate(),
	WWWW: (e, t) => t.WWWW[e.getDay()],
	WWW: (e, t) => t.WWW[e.getDay()],
	HH: (e) => K(e.getHours()),
	H: (e) => e.getHours(),
	h: (e) => {
		let t = e.getHours();
		return t == 0 ? 12 : t > 12 ? t - 12 : t;
	},
	AA: (e) => e.getHours() >= 12 ? "PM" : "AM",
	aa: (e) => e.getHours() >= 12 ? "pm" : "am",
	a: (e) => e.getHours() >= 12 ? "p" : "a",
	mm: (e) => K(e.getMinutes()),
	m: (e) => e.getMinutes(),
	ss: (e) => K(e.getSeconds()),
	s: (e) => e.getSeconds(),
	fff: (e) => Ln(e.getMilliseconds())
};
function zn(e, t) {
	t ||= In;
	let n = [], r = /\{([a-z]+)\}|[^{]+/gi, i;
	for (; i = r.exec(e);) n.push(i[0][0] == "{" ? Rn[i[1]] : i[0]);
	return (e) => {
		let r = "";
		for (let i = 0; i < n.length; i++) r += typeof n[i] == "string" ? n[i] : n[i](e, t);
		return r;
	};
}
var Bn = new Intl.DateTimeFormat().resolvedOptions().timeZone, Vn = (e) => e % 1 == 0, Hn = [
	1,
	2,
	2.5,
	5
], Un = G(10, -32, 0, Hn), Wn = G(10, 0, 32, Hn), Gn = Wn.filter(Vn), Kn = Un.concat(Wn), qn = "\n", Jn = "{YYYY}", Yn = qn + Jn, Xn = "{M}/{D}", Zn = qn + Xn, Qn = Zn + "/{YY}", $n = "{aa}", er = "{h}:{mm}" + $n, tr = qn + er, nr = ":{ss}", q = null;
function rr(e) {
	let t = e * 1e3, n = t * 60, r = n * 60, i = r * 24, a = i * 30, o = i * 365, s = (e == 1 ? G(10, 0, 3, Hn).filter(Vn) : G(10, -3, 0, Hn)).concat([
		t,
		t * 5,
		t * 10,
		t * 15,
		t * 30,
		n,
		n * 5,
		n * 10,
		n * 15,
		n * 30,
		r,
		r * 2,
		r * 3,
		r * 4,
		r * 6,
		r * 8,
		r * 12,
		i,
		i * 2,
		i * 3,
		i * 4,
		i * 5,
		i * 6,
		i * 7,
		i * 8,
		i * 9,
		i * 10,
		i * 15,
		a,
		a * 2,
		a * 3,
		a * 4,
		a * 6,
		o,
		o * 2,
		o * 5,
		o * 10,
		o * 25,
		o * 50,
		o * 100
	]), c = [
		[
			o,
			Jn,
			q,
			q,
			q,
			q,
			q,
			q,
			1
		],
		[
			i * 28,
			"{MMM}",
			Yn,
			q,
			q,
			q,
			q,
			q,
			1
		],
		[
			i,
			Xn,
			Yn,
			q,
			q,
			q,
			q,
			q,
			1
		],
		[
			r,
			"{h}" + $n,
			Qn,
			q,
			Zn,
			q,
			q,
			q,
			1
		],
		[
			n,
			er,
			Qn,
			q,
			Zn,
			q,
			q,
			q,
			1
		],
		[
			t,
			nr,
			Qn + " " + er,
			q,
			Zn + " " + er,
			q,
			tr,
			q,
			1
		],
		[
			e,
			nr + ".{fff}",
			Qn + " " + er,
			q,
			Zn + " " + er,
			q,
			tr,
			q,
			1
		]
	];
	function l(t) {
		return (s, c, l, u, d, f) => {
			let p = [], m = d >= o, h = d >= a && d < o, g = t(l), _ = W(g * e, 3), v = pr(g.getFullYear(), m ? 0 : g.getMonth(), h || m ? 1 : g.getDate()), y = W(v * e, 3);
			if (h || m) {
				let n = h ? d / a : 0, r = m ? d / o : 0, i = _ == y ? _ : W(pr(v.getFullYear() + r, v.getMonth() + n, 1) * e, 3), s = new Date(Rt(i / e)), c = s.getFullYear(), l = s.getMonth();
				for (let a = 0; i <= u; a++) {
					let o = pr(c + r * a, l + n * a, 1), s = o - t(W(o * e, 3));
					i = W((+o + s) * e, 3), i <= u && p.push(i);
				}
			} else {
				let a = d >= i ? i : d, o = y + (Lt(l) - Lt(_)) + sn(_ - y, a);
				p.push(o);
				let m = t(o), h = m.getHours() + m.getMinutes() / n + m.getSeconds() / r, g = d / r, v = f / s.axes[c]._space;
				for (; o = W(o + d, e == 1 ? 0 : 3), !(o > u);) if (g > 1) {
					let e = Lt(W(h + g, 6)) % 24, n = t(o).getHours() - e;
					n > 1 && (n = -1), o -= n * r, h = (h + g) % 24;
					let i = p[p.length - 1];
					W((o - i) / d, 3) * v >= .7 && p.push(o);
				} else p.push(o);
			}
			return p;
		};
	}
	return [
		s,
		c,
		l
	];
}
var [ir, ar, or] = rr(1), [sr, cr, lr] = rr(.001);
G(2, -53, 53, [1]);
function ur(e, t) {
	return e.map((e) => e.map((n, r) => r == 0 || r == 8 || n == null ? n : t(r == 1 || e[8] == 0 ? n : e[1] + n)));
}
function dr(e, t) {
	return (n, r, i, a, o) => {
		let s = t.find((e) => o >= e[0]) || t[t.length - 1], c, l, u, d, f, p;
		return r.map((t) => {
			let n = e(t), r = n.getFullYear(), i = n.getMonth(), a = n.getDate(), o = n.getHours(), m = n.getMinutes(), h = n.getSeconds(), g = r != c && s[2] || i != l && s[3] || a != u && s[4] || o != d && s[5] || m != f && s[6] || h != p && s[7] || s[1];
			return c = r, l = i, u = a, d = o, f = m, p = h, g(n);
		});
	};
}
function fr(e, t) {
	let n = zn(t);
	return (t, r, i, a, o) => r.map((t) => n(e(t)));
}
function pr(e, t, n) {
	return new Date(e, t, n);
}
function mr(e, t) {
	return t(e);
}
var hr = "{YYYY}-{MM}-{DD} {h}:{mm}{aa}";
function gr(e, t) {
	return (n, r, i, a) => a == null ? Ze : t(e(r));
}
function _r(e, t) {
	let n = e.series[t];
	return n.width ? n.stroke(e, t) : n.points.width ? n.points.stroke(e, t) : null;
}
function vr(e, t) {
	return e.series[t].fill(e, t);
}
var yr = {
	show: !0,
	live: !0,
	isolate: !1,
	mount: Zt,
	markers: {
		show: !0,
		width: 2,
		stroke: _r,
		fill: vr,
		dash: "solid"
	},
	idx: null,
	idxs: null,
	values: []
};
function br(e, t) {
	let n = e.cursor.points, r = st(), i = n.size(e, t);
	R(r, Ne, i), R(r, Pe, i);
	let a = i / -2;
	R(r, "marginLeft", a), R(r, "marginTop", a);
	let o = n.width(e, t, i);
	return o && R(r, "borderWidth", o), r;
}
function xr(e, t) {
	let n = e.series[t].points;
	return n._fill || n._stroke;
}
function Sr(e, t) {
	let n = e.series[t].points;
	return n._stroke || n._fill;
}
function Cr(e, t) {
	return e.series[t].points.size;
}
var wr = [0, 0];
function Tr(e, t, n) {
	return wr[0] = t, wr[1] = n, wr;
}
function Er(e, t, n, r = !0) {
	return (e) => {
		e.button != 0 || r && e.target != t || n(e);
	};
}
function Dr(e, t, n, r = !0) {
	return (e) => {
		r && e.target != t || n(e);
	};
}
var Or = {
	show: !0,
	x: !0,
	y: !0,
	lock: !1,
	move: Tr,
	points: {
		one: !1,
		show: br,
		size: Cr,
		width: 0,
		stroke: Sr,
		fill: xr
	},
	bind: {
		mousedown: Er,
		mouseup: Er,
		click: Er,
		dblclick: Er,
		mousemove: Dr,
		mouseleave: Dr,
		mouseenter: Dr
	},
	drag: {
		setScale: !0,
		x: !0,
		y: !1,
		dist: 0,
		uni: null,
		click: (e, t) => {
			t.stopPropagation(), t.stopImmediatePropagation();
		},
		_x: !1,
		_y: !1
	},
	focus: {
		dist: (e, t, n, r, i) => r - i,
		prox: -1,
		bias: 0
	},
	hover: {
		skip: [void 0],
		prox: null,
		bias: 0
	},
	left: -10,
	top: -10,
	idx: null,
	dataIdx: null,
	idxs: null,
	event: null
}, kr = {
	show: !0,
	stroke: "rgba(0,0,0,0.07)",
	width: 2
}, Ar = Cn({}, kr, { filter: $t }), jr = Cn({}, Ar, { size: 10 }), Mr = Cn({}, kr, { show: !1 }), Nr = "12px system-ui, -apple-system, \"Segoe UI\", Roboto, \"Helvetica Neue\", Arial, \"Noto Sans\", sans-serif, \"Apple Color Emoji\", \"Segoe UI Emoji\", \"Segoe UI Symbol\", \"Noto Color Emoji\"", Pr = "bold " + Nr, Fr = 1.5, Ir = {
	show: !0,
	scale: "x",
	stroke: ze,
	space: 50,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Pr,
	side: 2,
	grid: Ar,
	ticks: jr,
	border: Mr,
	font: Nr,
	lineGap: Fr,
	rotate: 0
}, Lr = "Value", Rr = "Time", zr = {
	show: !0,
	scale: "x",
	auto: !1,
	sorted: 1,
	min: H,
	max: -1e400,
	idxs: []
};
function Br(e, t, n, r, i) {
	return t.map((e) => e == null ? "" : Nt(e));
}
function Vr(e, t, n, r, i, a, o) {
	let s = [], c = ln.get(i) || 0;
	n = o ? n : W(sn(n, i), c);
	for (let e = n; e <= r; e = W(e + i, c)) s.push(Object.is(e, -0) ? 0 : e);
	return s;
}
function Hr(e, t, n, r, i, a, o) {
	let s = [], c = e.scales[e.axes[t].scale].log;
	i = Ht(c, Lt((c == 10 ? Wt : Gt)(n))), c == 10 && (i = Kn[gt(i, Kn)]);
	let l = n, u = i * c;
	c == 10 && (u = Kn[gt(u, Kn)]);
	do
		s.push(l), l += i, c == 10 && !ln.has(l) && (l = W(l, ln.get(i))), l >= u && (i = l, u = i * c, c == 10 && (u = Kn[gt(u, Kn)]));
	while (l <= r);
	return s;
}
function Ur(e, t, n, r, i, a, o) {
	let s = e.scales[e.axes[t].scale].asinh, c = r > s ? Hr(e, t, Vt(s, n), r, i) : [s], l = r >= 0 && n <= 0 ? [0] : [];
	return (n < -s ? Hr(e, t, Vt(s, -r), -n, i) : [s]).reverse().map((e) => -e).concat(l, c);
}
var Wr = /./, Gr = /[12357]/, Kr = /[125]/, qr = /1/, Jr = (e, t, n, r) => e.map((e, i) => t == 4 && e == 0 || i % r == 0 && n.test(e.toExponential()[+(e < 0)]) ? e : null);
function Yr(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = e.scales[o], c = e.valToPos, l = a._space, u = c(10, o), d = c(9, o) - u >= l ? Wr : c(7, o) - u >= l ? Gr : c(5, o) - u >= l ? Kr : qr;
	if (d == qr) {
		let e = It(c(1, o) - u);
		if (e < l) return Jr(t.slice().reverse(), s.distr, d, zt(l / e)).reverse();
	}
	return Jr(t, s.distr, d, 1);
}
function Xr(e, t, n, r, i) {
	let a = e.axes[n], o = a.scale, s = a._space, c = e.valToPos, l = It(c(1, o) - c(2, o));
	return l < s ? Jr(t.slice().reverse(), 3, Wr, zt(s / l)).reverse() : t;
}
function Zr(e, t, n, r) {
	return r == null ? Ze : t == null ? "" : Nt(t);
}
var Qr = {
	show: !0,
	scale: "y",
	stroke: ze,
	space: 30,
	gap: 5,
	alignTo: 1,
	size: 50,
	labelGap: 0,
	labelSize: 30,
	labelFont: Pr,
	side: 3,
	grid: Ar,
	ticks: jr,
	border: Mr,
	font: Nr,
	lineGap: Fr,
	rotate: 0
};
function $r(e, t) {
	return W((3 + (e || 1) * 2) * t, 3);
}
function ei(e, t) {
	let { scale: n, idxs: r } = e.series[0], i = e._data[0], a = e.valToPos(i[r[0]], n, !0), o = It(e.valToPos(i[r[1]], n, !0) - a) / (e.series[t].points.space * L);
	return r[1] - r[0] <= o;
}
var ti = {
	scale: null,
	auto: !0,
	sorted: 0,
	min: H,
	max: -1e400
}, ni = (e, t, n, r, i) => i, ri = {
	show: !0,
	auto: !0,
	sorted: 0,
	gaps: ni,
	alpha: 1,
	facets: [Cn({}, ti, { scale: "x" }), Cn({}, ti, { scale: "y" })]
}, ii = {
	scale: "y",
	auto: !0,
	sorted: 0,
	show: !0,
	spanGaps: !1,
	gaps: ni,
	alpha: 1,
	points: {
		show: ei,
		filter: null
	},
	values: null,
	min: H,
	max: -1e400,
	idxs: [],
	path: null,
	clip: null
};
function ai(e, t, n, r, i) {
	return n / 10;
}
var oi = {
	time: fe,
	auto: !0,
	distr: 1,
	log: 10,
	asinh: 1,
	min: null,
	max: null,
	dir: 1,
	ori: 0
}, si = Cn({}, oi, {
	time: !1,
	ori: 1
}), ci = {};
function li(e, t) {
	let n = ci[e];
	return n || (n = {
		key: e,
		plots: [],
		sub(e) {
			n.plots.push(e);
		},
		unsub(e) {
			n.plots = n.plots.filter((t) => t != e);
		},
		pub(e, t, r, i, a, o, s) {
			for (let c = 0; c < n.plots.length; c++) n.plots[c] != t && n.plots[c].pub(e, t, r, i, a, o, s);
		}
	}, e != null && (ci[e] = n)), n;
}
var ui = 1, di = 2;
function fi(e, t, n) {
	let r = e.mode, i = e.series[t], a = r == 2 ? e._data[t] : e._data, o = e.scales, s = e.bbox, c = a[0], l = r == 2 ? a[1] : a[t], u = r == 2 ? o[i.facets[0].scale] : o[e.series[0].scale], d = r == 2 ? o[i.facets[1].scale] : o[i.scale], f = s.left, p = s.top, m = s.width, h = s.height, g = e.valToPosH, _ = e.valToPosV;
	return u.ori == 0 ? n(i, c, l, u, d, g, _, f, p, m, h, yi, X, Q, Si, wi) : n(i, c, l, u, d, _, g, p, f, h, m, bi, Z, xi, Ci, Ti);
}
function pi(e, t) {
	let n = 0, r = 0, i = V(e.bands, fn);
	for (let e = 0; e < i.length; e++) {
		let a = i[e];
		a.series[0] == t ? n = a.dir : a.series[1] == t && (a.dir == 1 ? r |= 1 : r |= 2);
	}
	return [n, r == 1 ? -1 : r == 2 ? 1 : r == 3 ? 2 : 0];
}
function mi(e, t, n, r, i) {
	let a = e.mode, o = e.series[t], s = a == 2 ? o.facets[1].scale : o.scale, c = e.scales[s];
	return i == -1 ? c.min : i == 1 ? c.max : c.distr == 3 ? c.dir == 1 ? c.min : c.max : 0;
}
function hi(e, t, n, r, i, a) {
	return fi(e, t, (e, t, o, s, c, l, u, d, f, p, m) => {
		let h = e.pxRound, g = s.dir * (s.ori == 0 ? 1 : -1), _ = s.ori == 0 ? X : Z, v, y;
		g == 1 ? (v = n, y = r) : (v = r, y = n);
		let b = h(l(t[v], s, p, d)), x = h(u(o[v], c, m, f)), S = h(l(t[y], s, p, d)), C = h(u(a == 1 ? c.max : c.min, c, m, f)), w = new Path2D(i);
		return _(w, S, C), _(w, b, C), _(w, b, x), w;
	});
}
function gi(e, t, n, r, i, a) {
	let o = null;
	if (e.length > 0) {
		o = new Path2D();
		let s = t == 0 ? Q : xi, c = n;
		for (let t = 0; t < e.length; t++) {
			let n = e[t];
			if (n[1] > n[0]) {
				let e = n[0] - c;
				e > 0 && s(o, c, r, e, r + a), c = n[1];
			}
		}
		let l = n + i - c;
		l > 0 && s(o, c, r - 5, l, r + a + 10);
	}
	return o;
}
function _i(e, t, n) {
	let r = e[e.length - 1];
	r && r[0] == t ? r[1] = n : e.push([t, n]);
}
function J(e, t, n, r, i, a, o) {
	let s = [], c = e.length;
	for (let l = i == 1 ? n : r; l >= n && l <= r; l += i) if (t[l] === null) {
		let u = l, d = l;
		if (i == 1) for (; ++l <= r && t[l] === null;) d = l;
		else for (; --l >= n && t[l] === null;) d = l;
		let f = a(e[u]), p = d == u ? f : a(e[d]), m = u - i;
		f = o <= 0 && m >= 0 && m < c ? a(e[m]) : f;
		let h = d + i;
		p = o >= 0 && h >= 0 && h < c ? a(e[h]) : p, p >= f && s.push([f, p]);
	}
	return s;
}
function vi(e) {
	return e == 0 ? Qt : e == 1 ? Rt : (t) => on(t, e);
}
function Y(e) {
	let t = e == 0 ? yi : bi, n = e == 0 ? (e, t, n, r, i, a) => {
		e.arcTo(t, n, r, i, a);
	} : (e, t, n, r, i, a) => {
		e.arcTo(n, t, i, r, a);
	}, r = e == 0 ? (e, t, n, r, i) => {
		e.rect(t, n, r, i);
	} : (e, t, n, r, i) => {
		e.rect(n, t, i, r);
	};
	return (e, i, a, o, s, c = 0, l = 0) => {
		c == 0 && l == 0 ? r(e, i, a, o, s) : (c = Bt(c, o / 2, s / 2), l = Bt(l, o / 2, s / 2), t(e, i + c, a), n(e, i + o, a, i + o, a + s, c), n(e, i + o, a + s, i, a + s, l), n(e, i, a + s, i, a, l), n(e, i, a, i + o, a, c), e.closePath());
	};
}
var yi = (e, t, n) => {
	e.moveTo(t, n);
}, bi = (e, t, n) => {
	e.moveTo(n, t);
}, X = (e, t, n) => {
	e.lineTo(t, n);
}, Z = (e, t, n) => {
	e.lineTo(n, t);
}, Q = Y(0), xi = Y(1), Si = (e, t, n, r, i, a) => {
	e.arc(t, n, r, i, a);
}, Ci = (e, t, n, r, i, a) => {
	e.arc(n, t, r, i, a);
}, wi = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(t, n, r, i, a, o);
}, Ti = (e, t, n, r, i, a, o) => {
	e.bezierCurveTo(n, t, i, r, o, a);
};
function Ei(e) {
	return (e, t, n, r, i) => fi(e, t, (t, a, o, s, c, l, u, d, f, p, m) => {
		let { pxRound: h, points: g } = t, _, v;
		s.ori == 0 ? (_ = yi, v = Si) : (_ = bi, v = Ci);
		let y = W(g.width * L, 3), b = (g.size - g.width) / 2 * L, x = W(b * 2, 3), S = new Path2D(), C = new Path2D(), { left: w, top: T, width: E, height: D } = e.bbox;
		Q(C, w - x, T - x, E + x * 2, D + x * 2);
		let O = (e) => {
			if (o[e] != null) {
				let t = h(l(a[e], s, p, d)), n = h(u(o[e], c, m, f));
				_(S, t + b, n), v(S, t, n, b, 0, Ft * 2);
			}
		};
		if (i) i.forEach(O);
		else for (let e = n; e <= r; e++) O(e);
		return {
			stroke: y > 0 ? S : null,
			fill: S,
			clip: C,
			flags: 3
		};
	});
}
function Di(e) {
	return (t, n, r, i, a, o) => {
		r != i && (a != r && o != r && e(t, n, r), a != i && o != i && e(t, n, i), e(t, n, o));
	};
}
var Oi = Di(X), ki = Di(Z);
function Ai(e) {
	let t = V(e?.alignGaps, 0);
	return (e, n, r, i) => fi(e, n, (a, o, s, c, l, u, d, f, p, m, h) => {
		[r, i] = bt(s, r, i);
		let g = a.pxRound, _ = (e) => g(u(e, c, m, f)), v = (e) => g(d(e, l, h, p)), y, b;
		c.ori == 0 ? (y = X, b = Oi) : (y = Z, b = ki);
		let x = c.dir * (c.ori == 0 ? 1 : -1), S = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: ui
		}, C = S.stroke, w = !1;
		if (i - r >= m * 4) {
			let t = (t) => e.posToVal(t, c.key, !0), n = null, a = null, l, u, d, f = _(o[x == 1 ? r : i]), p = _(o[r]), m = _(o[i]), h = t(x == 1 ? p + 1 : m - 1);
			for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
				let r = o[e], i = (x == 1 ? r < h : r > h) ? f : _(r), c = s[e];
				i == f ? c == null ? c === null && (w = !0) : (u = c, n == null ? (y(C, i, v(u)), l = n = a = u) : u < n ? n = u : u > a && (a = u)) : (n != null && b(C, f, v(n), v(a), v(l), v(u)), c == null ? (n = a = null, c === null && (w = !0)) : (u = c, y(C, i, v(u)), n = a = l = u), f = i, h = t(f + x));
			}
			n != null && n != a && d != f && b(C, f, v(n), v(a), v(l), v(u));
		} else for (let e = x == 1 ? r : i; e >= r && e <= i; e += x) {
			let t = s[e];
			t === null ? w = !0 : t != null && y(C, _(o[e]), v(t));
		}
		let [T, E] = pi(e, n);
		if (a.fill != null || T != 0) {
			let t = S.fill = new Path2D(C), s = v(a.fillTo(e, n, a.min, a.max, T)), c = _(o[r]), l = _(o[i]);
			x == -1 && ([l, c] = [c, l]), y(t, l, s), y(t, c, s);
		}
		if (!a.spanGaps) {
			let l = [];
			w && l.push(...J(o, s, r, i, x, _, t)), S.gaps = l = a.gaps(e, n, r, i, l), S.clip = gi(l, c.ori, f, p, m, h);
		}
		return E != 0 && (S.band = E == 2 ? [hi(e, n, r, i, C, -1), hi(e, n, r, i, C, 1)] : hi(e, n, r, i, C, E)), S;
	});
}
function ji(e) {
	let t = V(e.align, 1), n = V(e.ascDesc, !1), r = V(e.alignGaps, 0), i = V(e.extend, !1);
	return (e, a, o, s) => fi(e, a, (c, l, u, d, f, p, m, h, g, _, v) => {
		[o, s] = bt(u, o, s);
		let y = c.pxRound, { left: b, width: x } = e.bbox, S = (e) => y(p(e, d, _, h)), C = (e) => y(m(e, f, v, g)), w = d.ori == 0 ? X : Z, T = {
			stroke: new Path2D(),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: ui
		}, E = T.stroke, D = d.dir * (d.ori == 0 ? 1 : -1), O = C(u[D == 1 ? o : s]), ee = S(l[D == 1 ? o : s]), k = ee, A = ee;
		i && t == -1 && (A = b, w(E, A, O)), w(E, ee, O);
		for (let e = D == 1 ? o : s; e >= o && e <= s; e += D) {
			let n = u[e];
			if (n == null) continue;
			let r = S(l[e]), i = C(n);
			t == 1 ? w(E, r, O) : w(E, k, i), w(E, r, i), O = i, k = r;
		}
		let te = k;
		i && t == 1 && (te = b + x, w(E, te, O));
		let [ne, re] = pi(e, a);
		if (c.fill != null || ne != 0) {
			let t = T.fill = new Path2D(E), n = C(c.fillTo(e, a, c.min, c.max, ne));
			w(t, te, n), w(t, A, n);
		}
		if (!c.spanGaps) {
			let i = [];
			i.push(...J(l, u, o, s, D, S, r));
			let f = c.width * L / 2, p = n || t == 1 ? f : -f, m = n || t == -1 ? -f : f;
			i.forEach((e) => {
				e[0] += p, e[1] += m;
			}), T.gaps = i = c.gaps(e, a, o, s, i), T.clip = gi(i, d.ori, h, g, _, v);
		}
		return re != 0 && (T.band = re == 2 ? [hi(e, a, o, s, E, -1), hi(e, a, o, s, E, 1)] : hi(e, a, o, s, E, re)), T;
	});
}
function Mi(e, t, n, r, i, a, o = H) {
	if (e.length > 1) {
		let s = null;
		for (let c = 0, l = 1e400; c < e.length; c++) if (t[c] !== void 0) {
			if (s != null) {
				let t = It(e[c] - e[s]);
				t < l && (l = t, o = It(n(e[c], r, i, a) - n(e[s], r, i, a)));
			}
			s = c;
		}
	}
	return o;
}
function Ni(e) {
	e ||= dn;
	let t = V(e.size, [
		.6,
		H,
		1
	]), n = e.align || 0, r = e.gap || 0, i = e.radius;
	i = i == null ? [0, 0] : typeof i == "number" ? [i, 0] : i;
	let a = U(i), o = 1 - t[0], s = V(t[1], H), c = V(t[2], 1), l = V(e.disp, dn), u = V(e.each, (e) => {}), { fill: d, stroke: f } = l;
	return (e, t, i, p) => fi(e, t, (m, h, g, _, v, y, b, x, S, C, w) => {
		let T = m.pxRound, E = n, D = r * L, O = s * L, ee = c * L, k, A;
		_.ori == 0 ? [k, A] = a(e, t) : [A, k] = a(e, t);
		let te = _.dir * (_.ori == 0 ? 1 : -1), ne = _.ori == 0 ? Q : xi, re = _.ori == 0 ? u : (e, t, n, r, i, a, o) => {
			u(e, t, n, i, r, o, a);
		}, ie = V(e.bands, fn).find((e) => e.series[0] == t), ae = ie == null ? 0 : ie.dir, oe = m.fillTo(e, t, m.min, m.max, ae), j = T(b(oe, v, w, S)), M, N, se, P = C, F = T(m.width * L), ce = !1, le = null, ue = null, I = null, de = null;
		d != null && (F == 0 || f != null) && (ce = !0, le = d.values(e, t, i, p), ue = /* @__PURE__ */ new Map(), new Set(le).forEach((e) => {
			e != null && ue.set(e, new Path2D());
		}), F > 0 && (I = f.values(e, t, i, p), de = /* @__PURE__ */ new Map(), new Set(I).forEach((e) => {
			e != null && de.set(e, new Path2D());
		})));
		let { x0: fe, size: pe } = l;
		if (fe != null && pe != null) {
			E = 1, h = fe.values(e, t, i, p), fe.unit == 2 && (h = h.map((t) => e.posToVal(x + t * C, _.key, !0)));
			let n = pe.values(e, t, i, p);
			N = pe.unit == 2 ? n[0] * C : y(n[0], _, C, x) - y(0, _, C, x), P = Mi(h, g, y, _, C, x, P), se = P - N + D;
		} else P = Mi(h, g, y, _, C, x, P), se = P * o + D, N = P - se;
		se < 1 && (se = 0), F >= N / 2 && (F = 0), se < 5 && (T = Qt);
		let me = se > 0, he = P - se - (me ? F : 0);
		N = T(Yt(he, ee, O)), M = (E == 0 ? N / 2 : E == te ? 0 : N) - E * te * ((E == 0 ? D / 2 : 0) + (me ? F / 2 : 0));
		let ge = {
			stroke: null,
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: 0
		}, _e = ce ? null : new Path2D(), ve = null;
		if (ie != null) ve = e.data[ie.series[1]];
		else {
			let { y0: n, y1: r } = l;
			n != null && r != null && (g = r.values(e, t, i, p), ve = n.values(e, t, i, p));
		}
		let ye = k * N, be = A * N;
		for (let n = te == 1 ? i : p; n >= i && n <= p; n += te) {
			let r = g[n];
			if (r == null) continue;
			if (ve != null) {
				let e = ve[n] ?? 0;
				if (r - e == 0) continue;
				j = b(e, v, w, S);
			}
			let i = y(_.distr != 2 || l != null ? h[n] : n, _, C, x), a = b(V(r, oe), v, w, S), o = T(i - M), s = T(Vt(a, j)), c = T(Bt(a, j)), u = s - c;
			if (r != null) {
				let i = r < 0 ? be : ye, a = r < 0 ? ye : be;
				ce ? (F > 0 && I[n] != null && ne(de.get(I[n]), o, c + Lt(F / 2), N, Vt(0, u - F), i, a), le[n] != null && ne(ue.get(le[n]), o, c + Lt(F / 2), N, Vt(0, u - F), i, a)) : ne(_e, o, c + Lt(F / 2), N, Vt(0, u - F), i, a), re(e, t, n, o - F / 2, c, N + F, u);
			}
		}
		return F > 0 ? ge.stroke = ce ? de : _e : ce || (ge._fill = m.width == 0 ? m._fill : m._stroke ?? m._fill, ge.width = 0), ge.fill = ce ? ue : _e, ge;
	});
}
function Pi(e, t) {
	let n = V(t?.alignGaps, 0);
	return (t, r, i, a) => fi(t, r, (o, s, c, l, u, d, f, p, m, h, g) => {
		[i, a] = bt(c, i, a);
		let _ = o.pxRound, v = (e) => _(d(e, l, h, p)), y = (e) => _(f(e, u, g, m)), b, x, S;
		l.ori == 0 ? (b = yi, S = X, x = wi) : (b = bi, S = Z, x = Ti);
		let C = l.dir * (l.ori == 0 ? 1 : -1), w = v(s[C == 1 ? i : a]), T = w, E = [], D = [];
		for (let e = C == 1 ? i : a; e >= i && e <= a; e += C) if (c[e] != null) {
			let t = v(s[e]);
			E.push(T = t), D.push(y(c[e]));
		}
		let O = {
			stroke: e(E, D, b, S, x, _),
			fill: null,
			clip: null,
			band: null,
			gaps: null,
			flags: ui
		}, ee = O.stroke, [k, A] = pi(t, r);
		if (o.fill != null || k != 0) {
			let e = O.fill = new Path2D(ee), n = y(o.fillTo(t, r, o.min, o.max, k));
			S(e, T, n), S(e, w, n);
		}
		if (!o.spanGaps) {
			let e = [];
			e.push(...J(s, c, i, a, C, v, n)), O.gaps = e = o.gaps(t, r, i, a, e), O.clip = gi(e, l.ori, p, m, h, g);
		}
		return A != 0 && (O.band = A == 2 ? [hi(t, r, i, a, ee, -1), hi(t, r, i, a, ee, 1)] : hi(t, r, i, a, ee, A)), O;
	});
}
function Fi(e) {
	return Pi(Ii, e);
}
function Ii(e, t, n, r, i, a) {
	let o = e.length;
	if (o < 2) return null;
	let s = new Path2D();
	if (n(s, e[0], t[0]), o == 2) r(s, e[1], t[1]);
	else {
		let n = Array(o), r = Array(o - 1), a = Array(o - 1), c = Array(o - 1);
		for (let n = 0; n < o - 1; n++) a[n] = t[n + 1] - t[n], c[n] = e[n + 1] - e[n], r[n] = a[n] / c[n];
		n[0] = r[0];
		for (let e = 1; e < o - 1; e++) r[e] === 0 || r[e - 1] === 0 || r[e - 1] > 0 != r[e] > 0 ? n[e] = 0 : (n[e] = 3 * (c[e - 1] + c[e]) / ((2 * c[e] + c[e - 1]) / r[e - 1] + (c[e] + 2 * c[e - 1]) / r[e]), isFinite(n[e]) || (n[e] = 0));
		n[o - 1] = r[o - 2];
		for (let r = 0; r < o - 1; r++) i(s, e[r] + c[r] / 3, t[r] + n[r] * c[r] / 3, e[r + 1] - c[r] / 3, t[r + 1] - n[r + 1] * c[r] / 3, e[r + 1], t[r + 1]);
	}
	return s;
}
var Li = /* @__PURE__ */ new Set();
function Ri() {
	for (let e of Li) e.syncRect(!0);
}
Qe && (mt(qe, et, Ri), mt(Je, et, Ri, !0), mt(Xe, et, () => {
	ea.pxRatio = L;
}));
var zi = Ai(), Bi = Ei();
function Vi(e, t, n, r) {
	return (r ? [e[0], e[1]].concat(e.slice(2)) : [e[0]].concat(e.slice(1))).map((e, r) => Ui(e, r, t, n));
}
function Hi(e, t) {
	return e.map((e, n) => n == 0 ? {} : Cn({}, t, e));
}
function Ui(e, t, n, r) {
	return Cn({}, t == 0 ? n : r, e);
}
function Wi(e, t, n) {
	return t == null ? pn : [t, n];
}
var Gi = Wi;
function Ki(e, t, n) {
	return t == null ? pn : kt(t, n, Tt, !0);
}
function qi(e, t, n, r) {
	return t == null ? pn : Ct(t, n, e.scales[r].log, !1);
}
var Ji = qi;
function Yi(e, t, n, r) {
	return t == null ? pn : wt(t, n, e.scales[r].log, !1);
}
var Xi = Yi;
function Zi(e, t, n, r, i) {
	let a = Vt(Jt(e), Jt(t)), o = t - e, s = gt(i / r * o, n);
	do {
		let e = n[s], t = r * e / o;
		if (t >= i && a + (e < 5 ? ln.get(e) : 0) <= 17) return [e, t];
	} while (++s < n.length);
	return [0, 0];
}
function Qi(e) {
	let t, n;
	return e = e.replace(/(\d+)px/, (e, r) => (t = Rt((n = +r) * L)) + "px"), [
		e,
		t,
		n
	];
}
function $i(e) {
	e.show && [e.font, e.labelFont].forEach((e) => {
		let t = W(e[2] * L, 1);
		e[0] = e[0].replace(/[0-9.]+px/, t + "px"), e[1] = t;
	});
}
function ea(e, t, n) {
	let r = { mode: V(e.mode, 1) }, i = r.mode;
	function a(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? 1 - i : i);
	}
	function o(e, t, n, r) {
		let i = t.valToPct(e);
		return r + n * (t.dir == -1 ? i : 1 - i);
	}
	function s(e, t, n, r) {
		return t.ori == 0 ? a(e, t, n, r) : o(e, t, n, r);
	}
	r.valToPosH = a, r.valToPosV = o;
	let c = !1;
	r.status = 0;
	let l = r.root = st(pe);
	if (e.id != null && (l.id = e.id), it(l, e.class), e.title) {
		let t = st(ge, l);
		t.textContent = e.title;
	}
	let u = ot("canvas"), d = r.ctx = u.getContext("2d"), f = st(_e, l);
	mt("click", f, (e) => {
		e.target === m && (J != pi || Y != hi) && bi.click(r, e);
	}, !0);
	let p = r.under = st(ve, f);
	f.appendChild(u);
	let m = r.over = st(ye, f);
	e = Sn(e);
	let h = +V(e.pxAlign, 1), g = vi(h);
	(e.plugins || []).forEach((t) => {
		t.opts && (e = t.opts(r, e) || e);
	});
	let _ = e.ms || .001, v = r.series = i == 1 ? Vi(e.series || [], zr, ii, !1) : Hi(e.series || [null], ri), y = r.axes = Vi(e.axes || [], Ir, Qr, !0), b = r.scales = {}, x = r.bands = e.bands || [];
	x.forEach((e) => {
		e.fill = U(e.fill || null), e.dir = V(e.dir, -1);
	});
	let S = i == 2 ? v[1].facets[0].scale : v[0].scale, C = {
		axes: jr,
		series: vr
	}, w = (e.drawOrder || ["axes", "series"]).map((e) => C[e]);
	function T(e) {
		let t = e.distr == 3 ? (t) => Wt(t > 0 ? t : e.clamp(r, t, e.min, e.max, e.key)) : e.distr == 4 ? (t) => qt(t, e.asinh) : e.distr == 100 ? (t) => e.fwd(t) : (e) => e;
		return (n) => {
			let r = t(n), { _min: i, _max: a } = e, o = a - i;
			return (r - i) / o;
		};
	}
	function E(t) {
		let n = b[t];
		if (n == null) {
			let r = (e.scales || dn)[t] || dn;
			if (r.from != null) {
				E(r.from);
				let e = Cn({}, b[r.from], r, { key: t });
				e.valToPct = T(e), b[t] = e;
			} else {
				n = b[t] = Cn({}, t == S ? oi : si, r), n.key = t;
				let e = n.time, a = n.range, o = mn(a);
				if ((t != S || i == 2 && !e) && (o && (a[0] == null || a[1] == null) && (a = {
					min: a[0] == null ? Et : {
						mode: 1,
						hard: a[0],
						soft: a[0]
					},
					max: a[1] == null ? Et : {
						mode: 1,
						hard: a[1],
						soft: a[1]
					}
				}, o = !1), !o && vn(a))) {
					let e = a;
					a = (t, n, r) => n == null ? pn : kt(n, r, e);
				}
				n.range = U(a || (e ? Gi : t == S ? n.distr == 3 ? Ji : n.distr == 4 ? Xi : Wi : n.distr == 3 ? qi : n.distr == 4 ? Yi : Ki)), n.auto = U(!o && n.auto), n.clamp = U(n.clamp || ai), n._min = n._max = null, n.valToPct = T(n);
			}
		}
	}
	E("x"), E("y"), i == 1 && v.forEach((e) => {
		E(e.scale);
	}), y.forEach((e) => {
		E(e.scale);
	});
	for (let t in e.scales) E(t);
	let D = b[S], O = D.distr, ee, k;
	D.ori == 0 ? (it(l, me), ee = a, k = o) : (it(l, he), ee = o, k = a);
	let A = {};
	for (let e in b) {
		let t = b[e];
		(t.min != null || t.max != null) && (A[e] = {
			min: t.min,
			max: t.max
		}, t.min = t.max = null);
	}
	let te = e.tzDate || ((e) => new Date(Rt(e / _))), ne = e.fmtDate || zn, re = _ == 1 ? or(te) : lr(te), ie = dr(te, ur(_ == 1 ? ar : cr, ne)), ae = gr(te, mr(hr, ne)), oe = [], j = r.legend = Cn({}, yr, e.legend), M = r.cursor = Cn({}, Or, { drag: { y: i == 2 } }, e.cursor), N = j.show, se = M.show, P = j.markers;
	j.idxs = oe, P.width = U(P.width), P.dash = U(P.dash), P.stroke = U(P.stroke), P.fill = U(P.fill);
	let F, ce, le, ue = [], I = [], de, fe = !1, ze = {};
	if (j.live) {
		let e = v[1] ? v[1].values : null;
		fe = e != null, de = fe ? e(r, 1, 0) : { _: 0 };
		for (let e in de) ze[e] = Ze;
	}
	if (N) {
		if (F = ot("table", Ee, l), le = ot("tbody", null, F), j.mount(r, F), fe) {
			ce = ot("thead", null, F, le);
			let e = ot("tr", null, ce);
			for (var qe in ot("th", null, e), de) ot("th", je, e).textContent = qe;
		} else it(F, Oe), j.live && it(F, De);
	}
	let Je = { show: !0 }, Ye = { show: !1 };
	function Qe(e, t) {
		if (t == 0 && (fe || !j.live || i == 2)) return pn;
		let n = [], a = ot("tr", ke, le, le.childNodes[t]);
		it(a, e.class), e.show || it(a, xe);
		let o = ot("th", null, a);
		if (P.show) {
			let e = st(Ae, o);
			if (t > 0) {
				let n = P.width(r, t);
				n && (e.style.border = n + "px " + P.dash(r, t) + " " + P.stroke(r, t)), e.style.background = P.fill(r, t);
			}
		}
		let s = st(je, o);
		for (var c in e.label instanceof HTMLElement ? s.appendChild(e.label) : s.textContent = e.label, t > 0 && (P.show || (s.style.color = e.width > 0 ? P.stroke(r, t) : P.fill(r, t)), nt("click", o, (t) => {
			if (M._lock) return;
			cn(t);
			let n = v.indexOf(e);
			if ((t.ctrlKey || t.metaKey) != j.isolate) {
				let e = v.some((e, t) => t > 0 && t != n && e.show);
				v.forEach((t, r) => {
					r > 0 && Ti(r, e ? r == n ? Je : Ye : Je, !0, $.setSeries);
				});
			} else Ti(n, { show: !e.show }, !0, $.setSeries);
		}, !1), bn && nt(We, o, (t) => {
			M._lock || (cn(t), Ti(v.indexOf(e), Ai, !0, $.setSeries));
		}, !1)), de) {
			let e = ot("td", Me, a);
			e.textContent = "--", n.push(e);
		}
		return [a, n];
	}
	let tt = /* @__PURE__ */ new Map();
	function nt(e, t, n, i = !0) {
		let a = tt.get(t) || {}, o = M.bind[e](r, t, n, i);
		o && (mt(e, t, a[e] = o), tt.set(t, a));
	}
	function rt(e, t, n) {
		let r = tt.get(t) || {};
		for (let n in r) (e == null || n == e) && (ht(n, t, r[n]), delete r[n]);
		e ?? tt.delete(t);
	}
	let ct = 0, ut = 0, z = 0, B = 0, pt = 0, _t = 0, vt = pt, yt = _t, bt = z, xt = B, Dt = 0, Ot = 0, jt = 0, Mt = 0;
	r.bbox = {};
	let Nt = !1, Pt = !1, Lt = !1, Ut = !1, Gt = !1, Jt = !1;
	function Zt(e, t, n) {
		(n || e != r.width || t != r.height) && Qt(e, t), Mr(!1), Lt = !0, Pt = !0, Gr();
	}
	function Qt(e, t) {
		r.width = ct = z = e, r.height = ut = B = t, pt = _t = 0, an(), sn();
		let n = r.bbox;
		Dt = n.left = on(pt * L, .5), Ot = n.top = on(_t * L, .5), jt = n.width = on(z * L, .5), Mt = n.height = on(B * L, .5);
	}
	function rn() {
		let e = !1, t = 0;
		for (; !e;) {
			t++;
			let n = kr(t), i = Ar(t);
			e = t == 3 || n && i, e || (Qt(r.width, r.height), Pt = !0);
		}
	}
	r.setSize = function({ width: e, height: t }) {
		Zt(e, t);
	};
	function an() {
		let e = !1, t = !1, n = !1, r = !1;
		y.forEach((i, a) => {
			if (i.show && i._show) {
				let { side: a, _size: o } = i, s = a % 2, c = o + (i.label == null ? 0 : i.labelSize);
				c > 0 && (s ? (z -= c, a == 3 ? (pt += c, r = !0) : n = !0) : (B -= c, a == 0 ? (_t += c, e = !0) : t = !0));
			}
		}), An[0] = e, An[1] = n, An[2] = t, An[3] = r, z -= Pn[1] + Pn[3], pt += Pn[3], B -= Pn[2] + Pn[0], _t += Pn[0];
	}
	function sn() {
		let e = pt + z, t = _t + B, n = pt, r = _t;
		function i(i, a) {
			switch (i) {
				case 1: return e += a, e - a;
				case 2: return t += a, t - a;
				case 3: return n -= a, n + a;
				case 0: return r -= a, r + a;
			}
		}
		y.forEach((e, t) => {
			if (e.show && e._show) {
				let t = e.side;
				e._pos = i(t, e._size), e.label != null && (e._lpos = i(t, e.labelSize));
			}
		});
	}
	if (M.dataIdx == null) {
		let e = M.hover, n = e.skip = new Set(e.skip ?? []);
		n.add(void 0);
		let r = e.prox = U(e.prox), i = e.bias ??= 0;
		M.dataIdx = (e, a, o, s) => {
			if (a == 0) return o;
			let c = o, l = r(e, a, o, s) ?? H, u = l >= 0 && l < H, d = D.ori == 0 ? z : B, f = M.left, p = t[0], m = t[a];
			if (n.has(m[o])) {
				c = null;
				let e = null, t = null, r;
				if (i == 0 || i == -1) for (r = o; e == null && r-- > 0;) n.has(m[r]) || (e = r);
				if (i == 0 || i == 1) for (r = o; t == null && r++ < m.length;) n.has(m[r]) || (t = r);
				if (e != null || t != null) {
					if (u) {
						let n = e == null ? -1e400 : ee(p[e], D, d, 0), r = t == null ? 1e400 : ee(p[t], D, d, 0), i = f - n, a = r - f;
						i <= a ? i <= l && (c = e) : a <= l && (c = t);
					} else c = t == null ? e : e == null ? t : o - e <= t - o ? e : t;
				}
			} else u && It(f - ee(p[o], D, d, 0)) > l && (c = null);
			return c;
		};
	}
	let cn = (e) => {
		M.event = e;
	};
	M.idxs = oe, M._lock = !1;
	let G = M.points;
	G.show = U(G.show), G.size = U(G.size), G.stroke = U(G.stroke), G.width = U(G.width), G.fill = U(G.fill);
	let hn = r.focus = Cn({}, e.focus || { alpha: .3 }, M.focus), bn = hn.prox >= 0, xn = bn && G.one, wn = [], Tn = [], En = [];
	function Dn(e, t) {
		let n = G.show(r, t);
		if (n instanceof HTMLElement) return it(n, Te), it(n, e.class), lt(n, -10, -10, z, B), m.insertBefore(n, wn[t]), n;
	}
	function kn(e, t) {
		if (i == 1 || t > 0) {
			let t = i == 1 && b[e.scale].time, n = e.value;
			e.value = t ? _n(n) ? gr(te, mr(n, ne)) : n || ae : n || Zr, e.label = e.label || (t ? Rr : Lr);
		}
		if (xn || t > 0) {
			e.width = e.width == null ? 1 : e.width, e.paths = e.paths || zi || en, e.fillTo = U(e.fillTo || mi), e.pxAlign = +V(e.pxAlign, h), e.pxRound = vi(e.pxAlign), e.stroke = U(e.stroke || null), e.fill = U(e.fill || null), e._stroke = e._fill = e._paths = e._focus = null;
			let t = $r(Vt(1, e.width), 1), n = e.points = Cn({}, {
				size: t,
				width: Vt(1, t * .2),
				stroke: e.stroke,
				space: t * 2,
				paths: Bi,
				_stroke: null,
				_fill: null
			}, e.points);
			n.show = U(n.show), n.filter = U(n.filter), n.fill = U(n.fill), n.stroke = U(n.stroke), n.paths = U(n.paths), n.pxAlign = e.pxAlign;
		}
		if (N) {
			let n = Qe(e, t);
			ue.splice(t, 0, n[0]), I.splice(t, 0, n[1]), j.values.push(null);
		}
		if (se) {
			oe.splice(t, 0, null);
			let n = null;
			xn ? t == 0 && (n = Dn(e, t)) : t > 0 && (n = Dn(e, t)), wn.splice(t, 0, n), Tn.splice(t, 0, 0), En.splice(t, 0, 0);
		}
		ba("addSeries", t);
	}
	r.addSeries = function(e, t) {
		t ??= v.length, e = i == 1 ? Ui(e, t, zr, ii) : Ui(e, t, {}, ri), v.splice(t, 0, e), kn(v[t], t);
	}, r.delSeries = function(e) {
		if (v.splice(e, 1), N) {
			j.values.splice(e, 1), I.splice(e, 1);
			let t = ue.splice(e, 1)[0];
			rt(null, t.firstChild), t.remove();
		}
		se && (oe.splice(e, 1), wn.splice(e, 1)[0].remove(), Tn.splice(e, 1), En.splice(e, 1)), ba("delSeries", e);
	};
	let An = [
		!1,
		!1,
		!1,
		!1
	];
	function jn(e, t) {
		if (e._show = e.show, e.show) {
			let n = e.side % 2, i = b[e.scale];
			i ??= (e.scale = n ? v[1].scale : S, b[e.scale]);
			let a = i.time;
			e.size = U(e.size), e.space = U(e.space), e.rotate = U(e.rotate), mn(e.incrs) && e.incrs.forEach((e) => {
				!ln.has(e) && ln.set(e, un(e));
			}), e.incrs = U(e.incrs || (i.distr == 2 ? Gn : a ? _ == 1 ? ir : sr : Kn)), e.splits = U(e.splits || (a && i.distr == 1 ? re : i.distr == 3 ? Hr : i.distr == 4 ? Ur : Vr)), e.stroke = U(e.stroke), e.grid.stroke = U(e.grid.stroke), e.ticks.stroke = U(e.ticks.stroke), e.border.stroke = U(e.border.stroke);
			let o = e.values;
			e.values = mn(o) && !mn(o[0]) ? U(o) : a ? mn(o) ? dr(te, ur(o, ne)) : _n(o) ? fr(te, o) : o || ie : o || Br, e.filter = U(e.filter || (i.distr >= 3 && i.log == 10 ? Yr : i.distr == 3 && i.log == 2 ? Xr : $t)), e.font = Qi(e.font), e.labelFont = Qi(e.labelFont), e._size = e.size(r, null, t, 0), e._space = e._rotate = e._incrs = e._found = e._splits = e._values = null, e._size > 0 && (An[t] = !0, e._el = st(be, f));
		}
	}
	function Mn(e, t, n, r) {
		let [i, a, o, s] = n, c = t % 2, l = 0;
		return c == 0 && (s || a) && (l = t == 0 && !i || t == 2 && !o ? Rt(Ir.size / 3) : 0), c == 1 && (i || o) && (l = t == 1 && !a || t == 3 && !s ? Rt(Qr.size / 2) : 0), l;
	}
	let Nn = r.padding = (e.padding || [
		Mn,
		Mn,
		Mn,
		Mn
	]).map((e) => U(V(e, Mn))), Pn = r._padding = Nn.map((e, t) => e(r, t, An, 0)), Fn, In = null, K = null, Ln = i == 1 ? v[0].idxs : null, Rn = null, Bn = !1;
	function Vn(e, n) {
		if (t = e ?? [], r.data = r._data = t, i == 2) {
			Fn = 0;
			for (let e = 1; e < v.length; e++) Fn += t[e][0].length;
		} else {
			t.length == 0 && (r.data = r._data = t = [[]]), Rn = t[0], Fn = Rn.length;
			let e = t;
			if (O == 2) {
				e = t.slice();
				let n = e[0] = Array(Fn);
				for (let e = 0; e < Fn; e++) n[e] = e;
			}
			r._data = t = e;
		}
		if (Mr(!0), ba("setData"), O == 2 && (Lt = !0), n !== !1) {
			let e = D;
			e.auto(r, Bn) ? Hn() : wi(S, e.min, e.max), Ut ||= M.left >= 0, Jt = !0, Gr();
		}
	}
	r.setData = Vn;
	function Hn() {
		Bn = !0;
		let e, n;
		i == 1 && (Fn > 0 ? (In = Ln[0] = 0, K = Ln[1] = Fn - 1, e = t[0][In], n = t[0][K], O == 2 ? (e = In, n = K) : e == n && (O == 3 ? [e, n] = Ct(e, e, D.log, !1) : O == 4 ? [e, n] = wt(e, e, D.log, !1) : D.time ? n = e + Rt(86400 / _) : [e, n] = kt(e, n, Tt, !0))) : (In = Ln[0] = e = null, K = Ln[1] = n = null)), wi(S, e, n);
	}
	let Un, Wn, qn, Jn, Yn, Xn, Zn, Qn, $n, er;
	function tr(e, t, n, r, i, a) {
		e ??= Be, n ??= fn, r ??= "butt", i ??= Be, a ??= "round", e != Un && (d.strokeStyle = Un = e), i != Wn && (d.fillStyle = Wn = i), t != qn && (d.lineWidth = qn = t), a != Yn && (d.lineJoin = Yn = a), r != Xn && (d.lineCap = Xn = r), n != Jn && d.setLineDash(Jn = n);
	}
	function nr(e, t, n, r) {
		t != Wn && (d.fillStyle = Wn = t), e != Zn && (d.font = Zn = e), n != Qn && (d.textAlign = Qn = n), r != $n && (d.textBaseline = $n = r);
	}
	function q(e, t, n, i, a = 0) {
		if (i.length > 0 && e.auto(r, Bn) && (t == null || t.min == null)) {
			let t = V(In, 0), r = V(K, i.length - 1), o = n.min == null ? St(i, t, r, a, e.distr == 3) : [n.min, n.max];
			e.min = Bt(e.min, n.min = o[0]), e.max = Vt(e.max, n.max = o[1]);
		}
	}
	let rr = {
		min: null,
		max: null
	};
	function pr() {
		for (let e in b) {
			let t = b[e];
			A[e] == null && (t.min == null || A[S] != null && t.auto(r, Bn)) && (A[e] = rr);
		}
		for (let e in b) {
			let t = b[e];
			A[e] == null && t.from != null && A[t.from] != null && (A[e] = rr);
		}
		A[S] != null && Mr(!0);
		let e = {};
		for (let t in A) {
			let n = A[t];
			if (n != null) {
				let a = e[t] = Sn(b[t], yn);
				if (n.min != null) Cn(a, n);
				else if (t != S || i == 2) {
					if (Fn == 0 && a.from == null) {
						let e = a.range(r, null, null, t);
						a.min = e[0], a.max = e[1];
					} else a.min = H, a.max = -1e400;
				}
			}
		}
		if (Fn > 0) {
			v.forEach((n, a) => {
				if (i == 1) {
					let i = n.scale, o = A[i];
					if (o == null) return;
					let s = e[i];
					if (a == 0) {
						let e = s.range(r, s.min, s.max, i);
						s.min = e[0], s.max = e[1], In = gt(s.min, t[0]), K = gt(s.max, t[0]), K - In > 1 && (t[0][In] < s.min && In++, t[0][K] > s.max && K--), n.min = Rn[In], n.max = Rn[K];
					} else n.show && n.auto && q(s, o, n, t[a], n.sorted);
					n.idxs[0] = In, n.idxs[1] = K;
				} else if (a > 0 && n.show && n.auto) {
					let [r, i] = n.facets, o = r.scale, s = i.scale, [c, l] = t[a], u = e[o], d = e[s];
					u != null && q(u, A[o], r, c, r.sorted), d != null && q(d, A[s], i, l, i.sorted), n.min = i.min, n.max = i.max;
				}
			});
			for (let t in e) {
				let n = e[t], i = A[t];
				if (n.from == null && (i == null || i.min == null)) {
					let e = n.range(r, n.min == H ? null : n.min, n.max == -1e400 ? null : n.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		for (let t in e) {
			let n = e[t];
			if (n.from != null) {
				let i = e[n.from];
				if (i.min == null) n.min = n.max = null;
				else {
					let e = n.range(r, i.min, i.max, t);
					n.min = e[0], n.max = e[1];
				}
			}
		}
		let n = {}, a = !1;
		for (let t in e) {
			let r = e[t], i = b[t];
			if (i.min != r.min || i.max != r.max) {
				i.min = r.min, i.max = r.max;
				let e = i.distr;
				i._min = e == 3 ? Wt(i.min) : e == 4 ? qt(i.min, i.asinh) : e == 100 ? i.fwd(i.min) : i.min, i._max = e == 3 ? Wt(i.max) : e == 4 ? qt(i.max, i.asinh) : e == 100 ? i.fwd(i.max) : i.max, n[t] = a = !0;
			}
		}
		if (a) {
			v.forEach((e, t) => {
				i == 2 ? t > 0 && n.y && (e._paths = null) : n[e.scale] && (e._paths = null);
			});
			for (let e in n) Lt = !0, ba("setScale", e);
			se && M.left >= 0 && (Ut = Jt = !0);
		}
		for (let e in A) A[e] = null;
	}
	function _r(e) {
		let t = Yt(In - 1, 0, Fn - 1), n = Yt(K + 1, 0, Fn - 1);
		for (; e[t] == null && t > 0;) t--;
		for (; e[n] == null && n < Fn - 1;) n++;
		return [t, n];
	}
	function vr() {
		if (Fn > 0) {
			let e = v.some((e) => e._focus) && er != hn.alpha;
			e && (d.globalAlpha = er = hn.alpha), v.forEach((e, n) => {
				if (n > 0 && e.show && (br(n, !1), br(n, !0), e._paths == null)) {
					let a = er;
					er != e.alpha && (d.globalAlpha = er = e.alpha);
					let o = i == 2 ? [0, t[n][0].length - 1] : _r(t[n]);
					e._paths = e.paths(r, n, o[0], o[1]), er != a && (d.globalAlpha = er = a);
				}
			}), v.forEach((e, t) => {
				if (t > 0 && e.show) {
					let n = er;
					er != e.alpha && (d.globalAlpha = er = e.alpha), e._paths != null && xr(t, !1);
					{
						let n = e._paths == null ? null : e._paths.gaps, i = e.points.show(r, t, In, K, n), a = e.points.filter(r, t, i, n);
						(i || a) && (e.points._paths = e.points.paths(r, t, In, K, a), xr(t, !0));
					}
					er != n && (d.globalAlpha = er = n), ba("drawSeries", t);
				}
			}), e && (d.globalAlpha = er = 1);
		}
	}
	function br(e, t) {
		let n = t ? v[e].points : v[e];
		n._stroke = n.stroke(r, e), n._fill = n.fill(r, e);
	}
	function xr(e, t) {
		let n = t ? v[e].points : v[e], { stroke: r, fill: i, clip: a, flags: o, _stroke: s = n._stroke, _fill: c = n._fill, _width: l = n.width } = n._paths;
		l = W(l * L, 3);
		let u = null, f = l % 2 / 2;
		t && c == null && (c = l > 0 ? "#fff" : s);
		let p = n.pxAlign == 1 && f > 0;
		if (p && d.translate(f, f), !t) {
			let e = Dt - l / 2, t = Ot - l / 2, n = jt + l, r = Mt + l;
			u = new Path2D(), u.rect(e, t, n, r);
		}
		t ? Cr(s, l, n.dash, n.cap, c, r, i, o, a) : Sr(e, s, l, n.dash, n.cap, c, r, i, o, u, a), p && d.translate(-f, -f);
	}
	function Sr(e, n, i, a, o, s, c, l, u, d, f) {
		let p = !1;
		u != 0 && x.forEach((m, h) => {
			if (m.series[0] == e) {
				let e = v[m.series[1]], g = t[m.series[1]], _ = (e._paths || dn).band;
				mn(_) && (_ = m.dir == 1 ? _[0] : _[1]);
				let y, b = null;
				e.show && _ && At(g, In, K) ? (b = m.fill(r, h) || s, y = e._paths.clip) : _ = null, Cr(n, i, a, o, b, c, l, u, d, f, y, _), p = !0;
			}
		}), p || Cr(n, i, a, o, s, c, l, u, d, f);
	}
	function Cr(e, t, n, r, i, a, o, s, c, l, u, f) {
		tr(e, t, n, r, i), (c || l || f) && (d.save(), c && d.clip(c), l && d.clip(l)), f ? (s & 3) == 3 ? (d.clip(f), u && d.clip(u), Tr(i, o), wr(e, a, t)) : s & di ? (Tr(i, o), d.clip(f), wr(e, a, t)) : s & ui && (d.save(), d.clip(f), u && d.clip(u), Tr(i, o), d.restore(), wr(e, a, t)) : (Tr(i, o), wr(e, a, t)), (c || l || f) && d.restore();
	}
	function wr(e, t, n) {
		n > 0 && (t instanceof Map ? t.forEach((e, t) => {
			d.strokeStyle = Un = t, d.stroke(e);
		}) : t != null && e && d.stroke(t));
	}
	function Tr(e, t) {
		t instanceof Map ? t.forEach((e, t) => {
			d.fillStyle = Wn = t, d.fill(e);
		}) : t != null && e && d.fill(t);
	}
	function Er(e, t, n, i) {
		let a = y[e], o;
		if (i <= 0) o = [0, 0];
		else {
			let s = a._space = a.space(r, e, t, n, i);
			o = Zi(t, n, a._incrs = a.incrs(r, e, t, n, i, s), i, s);
		}
		return a._found = o;
	}
	function Dr(e, t, n, r, i, a, o, s, c, l) {
		let u = o % 2 / 2;
		h == 1 && d.translate(u, u), tr(s, o, c, l, s), d.beginPath();
		let f, p, m, g, _ = i + (r == 0 || r == 3 ? -a : a);
		n == 0 ? (p = i, g = _) : (f = i, m = _);
		for (let r = 0; r < e.length; r++) t[r] != null && (n == 0 ? f = m = e[r] : p = g = e[r], d.moveTo(f, p), d.lineTo(m, g));
		d.stroke(), h == 1 && d.translate(-u, -u);
	}
	function kr(e) {
		let t = !0;
		return y.forEach((n, i) => {
			if (!n.show) return;
			let a = b[n.scale];
			if (a.min == null) {
				n._show && (t = !1, n._show = !1, Mr(!1));
				return;
			}
			n._show || (t = !1, n._show = !0, Mr(!1));
			let o = n.side, s = o % 2, { min: c, max: l } = a, [u, d] = Er(i, c, l, s == 0 ? z : B);
			if (d == 0) return;
			let f = a.distr == 2, p = n._splits = n.splits(r, i, c, l, u, d, f), m = a.distr == 2 ? p.map((e) => Rn[e]) : p, h = a.distr == 2 ? Rn[p[1]] - Rn[p[0]] : u, g = n._values = n.values(r, n.filter(r, m, i, d, h), i, d, h);
			n._rotate = o == 2 ? n.rotate(r, g, i, d) : 0;
			let _ = n._size;
			n._size = zt(n.size(r, g, i, e)), _ != null && n._size != _ && (t = !1);
		}), t;
	}
	function Ar(e) {
		let t = !0;
		return Nn.forEach((n, i) => {
			let a = n(r, i, An, e);
			a != Pn[i] && (t = !1), Pn[i] = a;
		}), t;
	}
	function jr() {
		for (let e = 0; e < y.length; e++) {
			let t = y[e];
			if (!t.show || !t._show) continue;
			let n = t.side, i = n % 2, a, o, c = t.stroke(r, e), l = n == 0 || n == 3 ? -1 : 1, [u, f] = t._found;
			if (t.label != null) {
				let s = t.labelGap * l, p = Rt((t._lpos + s) * L);
				nr(t.labelFont[0], c, "center", n == 2 ? Fe : Ie), d.save(), i == 1 ? (a = o = 0, d.translate(p, Rt(Ot + Mt / 2)), d.rotate((n == 3 ? -Ft : Ft) / 2)) : (a = Rt(Dt + jt / 2), o = p);
				let m = Xt(t.label) ? t.label(r, e, u, f) : t.label;
				d.fillText(m, a, o), d.restore();
			}
			if (f == 0) continue;
			let p = b[t.scale], m = i == 0 ? jt : Mt, h = i == 0 ? Dt : Ot, _ = t._splits, v = p.distr == 2 ? _.map((e) => Rn[e]) : _, x = p.distr == 2 ? Rn[_[1]] - Rn[_[0]] : u, S = t.ticks, C = t.border, w = S.show ? S.size : 0, T = Rt(w * L), E = Rt((t.alignTo == 2 ? t._size - w - t.gap : t.gap) * L), D = t._rotate * -Ft / 180, O = g(t._pos * L), ee = O + (T + E) * l;
			o = i == 0 ? ee : 0, a = i == 1 ? ee : 0, nr(t.font[0], c, t.align == 1 ? Le : t.align == 2 ? Re : D > 0 ? Le : D < 0 ? Re : i == 0 ? "center" : n == 3 ? Re : Le, D || i == 1 ? "middle" : n == 2 ? Fe : Ie);
			let k = t.font[1] * t.lineGap, A = _.map((e) => g(s(e, p, m, h))), te = t._values;
			for (let e = 0; e < te.length; e++) {
				let t = te[e];
				if (t != null) {
					i == 0 ? a = A[e] : o = A[e], t = "" + t;
					let n = t.indexOf("\n") == -1 ? [t] : t.split(/\n/gm);
					for (let e = 0; e < n.length; e++) {
						let t = n[e];
						D ? (d.save(), d.translate(a, o + e * k), d.rotate(D), d.fillText(t, 0, 0), d.restore()) : d.fillText(t, a, o + e * k);
					}
				}
			}
			S.show && Dr(A, S.filter(r, v, e, f, x), i, n, O, T, W(S.width * L, 3), S.stroke(r, e), S.dash, S.cap);
			let ne = t.grid;
			ne.show && Dr(A, ne.filter(r, v, e, f, x), i, i == 0 ? 2 : 1, i == 0 ? Ot : Dt, i == 0 ? Mt : jt, W(ne.width * L, 3), ne.stroke(r, e), ne.dash, ne.cap), C.show && Dr([O], [1], +(i == 0), i == 0 ? 1 : 2, i == 1 ? Ot : Dt, i == 1 ? Mt : jt, W(C.width * L, 3), C.stroke(r, e), C.dash, C.cap);
		}
		ba("drawAxes");
	}
	function Mr(e) {
		v.forEach((t, n) => {
			n > 0 && (t._paths = null, e && (i == 1 ? (t.min = null, t.max = null) : t.facets.forEach((e) => {
				e.min = null, e.max = null;
			})));
		});
	}
	let Nr = !1, Pr = !1, Fr = [];
	function Wr() {
		Pr = !1;
		for (let e = 0; e < Fr.length; e++) ba(...Fr[e]);
		Fr.length = 0;
	}
	function Gr() {
		Nr ||= (On(Kr), !0);
	}
	r.batch = function(e, t = !1) {
		Nr = !0, Pr = t, e(r), Kr(), t && Fr.length > 0 && queueMicrotask(Wr);
	};
	function Kr() {
		if (Nt &&= (pr(), !1), Lt &&= (rn(), !1), Pt) {
			if (R(p, Le, pt), R(p, Fe, _t), R(p, Ne, z), R(p, Pe, B), R(m, Le, pt), R(m, Fe, _t), R(m, Ne, z), R(m, Pe, B), R(f, Ne, ct), R(f, Pe, ut), u.width = Rt(ct * L), u.height = Rt(ut * L), y.forEach(({ _el: e, _show: t, _size: n, _pos: r, side: i }) => {
				if (e != null) {
					if (t) {
						let t = i === 3 || i === 0 ? n : 0, a = i % 2 == 1;
						R(e, a ? "left" : "top", r - t), R(e, a ? "width" : "height", n), R(e, a ? "top" : "left", a ? _t : pt), R(e, a ? "height" : "width", a ? B : z), at(e, xe);
					} else it(e, xe);
				}
			}), Un = Wn = qn = Yn = Xn = Zn = Qn = $n = Jn = null, er = 1, ia(!0), pt != vt || _t != yt || z != bt || B != xt) {
				Mr(!1);
				let e = z / bt, t = B / xt;
				if (se && !Ut && M.left >= 0) {
					M.left *= e, M.top *= t, ti && lt(ti, Rt(M.left), 0, z, B), ni && lt(ni, 0, Rt(M.top), z, B);
					for (let n = 0; n < wn.length; n++) {
						let r = wn[n];
						r != null && (Tn[n] *= e, En[n] *= t, lt(r, zt(Tn[n]), zt(En[n]), z, B));
					}
				}
				if (Q.show && !Gt && Q.left >= 0 && Q.width > 0) {
					Q.left *= e, Q.width *= e, Q.top *= t, Q.height *= t;
					for (let e in sa) R(xi, e, Q[e]);
				}
				vt = pt, yt = _t, bt = z, xt = B;
			}
			ba("setSize"), Pt = !1;
		}
		ct > 0 && ut > 0 && (d.clearRect(0, 0, u.width, u.height), ba("drawClear"), w.forEach((e) => e()), ba("draw")), Q.show && Gt && (Si(Q), Gt = !1), se && Ut && (na(null, !0, !1), Ut = !1), j.show && j.live && Jt && (ea(), Jt = !1), c || (c = !0, r.status = 1, ba("ready")), Bn = !1, Nr = !1;
	}
	r.redraw = (e, t) => {
		Lt = t || !1, e === !1 ? Gr() : wi(S, D.min, D.max);
	};
	function qr(e, n) {
		let i = b[e];
		if (i.from == null) {
			if (Fn == 0) {
				let t = i.range(r, n.min, n.max, e);
				n.min = t[0], n.max = t[1];
			}
			if (n.min > n.max) {
				let e = n.min;
				n.min = n.max, n.max = e;
			}
			if (Fn > 1 && n.min != null && n.max != null && n.max - n.min < 1e-16) return;
			e == S && i.distr == 2 && Fn > 0 && (n.min = gt(n.min, t[0]), n.max = gt(n.max, t[0]), n.min == n.max && n.max++), A[e] = n, Nt = !0, Gr();
		}
	}
	r.setScale = qr;
	let Jr, ei, ti, ni, ci, fi, pi, hi, gi, _i, J, Y, yi = !1, bi = M.drag, X = bi.x, Z = bi.y;
	se && (M.x && (Jr = st(Ce, m)), M.y && (ei = st(we, m)), D.ori == 0 ? (ti = Jr, ni = ei) : (ti = ei, ni = Jr), J = M.left, Y = M.top);
	let Q = r.select = Cn({
		show: !0,
		over: !0,
		left: 0,
		width: 0,
		top: 0,
		height: 0
	}, e.select), xi = Q.show ? st(Se, Q.over ? m : p) : null;
	function Si(e, t) {
		if (Q.show) {
			for (let t in e) Q[t] = e[t], t in sa && R(xi, t, e[t]);
			t !== !1 && ba("setSelect");
		}
	}
	r.setSelect = Si;
	function Ci(e) {
		if (v[e].show) N && at(ue[e], xe);
		else if (N && it(ue[e], xe), se) {
			let t = xn ? wn[0] : wn[e];
			t != null && lt(t, -10, -10, z, B);
		}
	}
	function wi(e, t, n) {
		qr(e, {
			min: t,
			max: n
		});
	}
	function Ti(e, t, n, a) {
		t.focus != null && ji(e), t.show != null && v.forEach((n, r) => {
			r > 0 && (e == r || e == null) && (n.show = t.show, Ci(r), i == 2 ? (wi(n.facets[0].scale, null, null), wi(n.facets[1].scale, null, null)) : wi(n.scale, null, null), Gr());
		}), n !== !1 && ba("setSeries", e, t), a && wa("setSeries", r, e, t);
	}
	r.setSeries = Ti, r.addBand = function(e, t) {
		e.fill = U(e.fill || null), e.dir = V(e.dir, -1), t ??= x.length, x.splice(t, 0, e);
	}, r.setBand = function(e, t) {
		Cn(x[e], t);
	}, r.delBand = function(e) {
		e == null ? x.length = 0 : x.splice(e, 1);
	};
	function Ei(e, t) {
		v[e].alpha = t, se && wn[e] != null && (wn[e].style.opacity = t), N && ue[e] && (ue[e].style.opacity = t);
	}
	let Di, Oi, ki, Ai = { focus: !0 };
	function ji(e) {
		if (e != ki) {
			let t = e == null, n = hn.alpha != 1;
			v.forEach((r, a) => {
				if (i == 1 || a > 0) {
					let i = t || a == 0 || a == e;
					r._focus = t ? null : i, n && Ei(a, i ? 1 : hn.alpha);
				}
			}), ki = e, n && Gr();
		}
	}
	N && bn && nt(Ge, F, (e) => {
		M._lock || (cn(e), ki != null && Ti(null, Ai, !0, $.setSeries));
	});
	function Mi(e, t, n) {
		let r = b[t];
		n && (e = e / L - (r.ori == 1 ? _t : pt));
		let i = z;
		r.ori == 1 && (i = B, e = i - e), r.dir == -1 && (e = i - e);
		let a = r._min, o = r._max, s = e / i, c = a + (o - a) * s, l = r.distr;
		return l == 3 ? Ht(10, c) : l == 4 ? Kt(c, r.asinh) : l == 100 ? r.bwd(c) : c;
	}
	r.valToIdx = (e) => gt(e, t[0]), r.posToIdx = function(e, n) {
		return gt(Mi(e, S, n), t[0], In, K);
	}, r.posToVal = Mi, r.valToPos = (e, t, n) => b[t].ori == 0 ? a(e, b[t], n ? jt : z, n ? Dt : 0) : o(e, b[t], n ? Mt : B, n ? Ot : 0), r.setCursor = (e, t, n) => {
		J = e.left, Y = e.top, na(null, t, n);
	};
	function Ni(e, t) {
		R(xi, Le, Q.left = e), R(xi, Ne, Q.width = t);
	}
	function Pi(e, t) {
		R(xi, Fe, Q.top = e), R(xi, Pe, Q.height = t);
	}
	let Fi = D.ori == 0 ? Ni : Pi, Ii = D.ori == 1 ? Ni : Pi;
	function Ri() {
		if (N && j.live) for (let e = +(i == 2); e < v.length; e++) {
			if (e == 0 && fe) continue;
			let t = j.values[e], n = 0;
			for (let r in t) I[e][n++].firstChild.nodeValue = t[r];
		}
	}
	function ea(e, t) {
		if (e != null && (e.idxs ? e.idxs.forEach((e, t) => {
			oe[t] = e;
		}) : gn(e.idx) || oe.fill(e.idx), j.idx = oe[0]), N && j.live) {
			for (let e = 0; e < v.length; e++) (e > 0 || i == 1 && !fe) && ta(e, oe[e]);
			Ri();
		}
		Jt = !1, t !== !1 && ba("setLegend");
	}
	r.setLegend = ea;
	function ta(e, n) {
		let i = v[e], a = e == 0 && O == 2 ? Rn : t[e], o;
		fe ? o = i.values(r, e, n) ?? ze : (o = i.value(r, n == null ? null : a[n], e, n), o = o == null ? ze : { _: o }), j.values[e] = o;
	}
	function na(e, n, a) {
		gi = J, _i = Y, [J, Y] = M.move(r, J, Y), M.left = J, M.top = Y, se && (ti && lt(ti, Rt(J), 0, z, B), ni && lt(ni, 0, Rt(Y), z, B));
		let o, s = In > K;
		Di = H, Oi = null;
		let c = D.ori == 0 ? z : B, l = D.ori == 1 ? z : B;
		if (J < 0 || Fn == 0 || s) {
			o = M.idx = null;
			for (let e = 0; e < v.length; e++) {
				let t = wn[e];
				t != null && lt(t, -10, -10, z, B);
			}
			bn && Ti(null, Ai, !0, e == null && $.setSeries), j.live && (oe.fill(o), Jt = !0);
		} else {
			let e, n, a;
			i == 1 && (e = D.ori == 0 ? J : Y, n = Mi(e, S), o = M.idx = gt(n, t[0], In, K), a = ee(t[0][o], D, c, 0));
			let s = -10, u = -10, d = 0, f = 0, p = !0, m = "", h = "";
			for (let e = +(i == 2); e < v.length; e++) {
				let g = v[e], _ = oe[e], y = _ == null ? null : i == 1 ? t[e][_] : t[e][1][_], x = M.dataIdx(r, e, o, n), S = x == null ? null : i == 1 ? t[e][x] : t[e][1][x];
				if (Jt = Jt || S != y || x != _, oe[e] = x, e > 0 && g.show) {
					let n = x == null ? -10 : x == o ? a : ee(i == 1 ? t[0][x] : t[e][0][x], D, c, 0), _ = S == null ? -10 : k(S, i == 1 ? b[g.scale] : b[g.facets[1].scale], l, 0);
					if (bn && S != null) {
						let t = D.ori == 1 ? J : Y, n = It(hn.dist(r, e, x, _, t));
						if (n < Di) {
							let r = hn.bias;
							if (r != 0) {
								let i = Mi(t, g.scale), a = S >= 0 ? 1 : -1, o = i >= 0 ? 1 : -1;
								o == a && (o == 1 ? r == 1 ? S >= i : S <= i : r == 1 ? S <= i : S >= i) && (Di = n, Oi = e);
							} else Di = n, Oi = e;
						}
					}
					if (Jt || xn) {
						let t, i;
						D.ori == 0 ? (t = n, i = _) : (t = _, i = n);
						let a, o, c, l, g, v, y = !0, b = G.bbox;
						if (b != null) {
							y = !1;
							let t = b(r, e);
							c = t.left, l = t.top, a = t.width, o = t.height;
						} else c = t, l = i, a = o = G.size(r, e);
						if (v = G.fill(r, e), g = G.stroke(r, e), xn) e == Oi && Di <= hn.prox && (s = c, u = l, d = a, f = o, p = y, m = v, h = g);
						else {
							let t = wn[e];
							t != null && (Tn[e] = c, En[e] = l, ft(t, a, o, y), dt(t, v, g), lt(t, zt(c), zt(l), z, B));
						}
					}
				}
			}
			if (xn) {
				let e = hn.prox;
				if (Jt || (ki == null ? Di <= e : Di > e || Oi != ki)) {
					let e = wn[0];
					e != null && (Tn[0] = s, En[0] = u, ft(e, d, f, p), dt(e, m, h), lt(e, zt(s), zt(u), z, B));
				}
			}
		}
		if (Q.show && yi) {
			if (e != null) {
				let [t, n] = $.scales, [r, i] = $.match, [a, o] = e.cursor.sync.scales, s = e.cursor.drag;
				if (X = s._x, Z = s._y, X || Z) {
					let { left: s, top: u, width: d, height: f } = e.select, p = e.scales[a].ori, m = e.posToVal, h, g, _, v, y, x = t != null && r(t, a), S = n != null && i(n, o);
					x && X ? (p == 0 ? (h = s, g = d) : (h = u, g = f), _ = b[t], v = ee(m(h, a), _, c, 0), y = ee(m(h + g, a), _, c, 0), Fi(Bt(v, y), It(y - v))) : Fi(0, c), S && Z ? (p == 1 ? (h = s, g = d) : (h = u, g = f), _ = b[n], v = k(m(h, o), _, l, 0), y = k(m(h + g, o), _, l, 0), Ii(Bt(v, y), It(y - v))) : Ii(0, l);
				} else ca();
			} else {
				let e = It(gi - ci), t = It(_i - fi);
				if (D.ori == 1) {
					let n = e;
					e = t, t = n;
				}
				X = bi.x && e >= bi.dist, Z = bi.y && t >= bi.dist;
				let n = bi.uni;
				n == null ? bi.x && bi.y && (X || Z) && (X = Z = !0) : X && Z && (X = e >= n, Z = t >= n, !X && !Z && (t > e ? Z = !0 : X = !0));
				let r, i;
				X && (D.ori == 0 ? (r = pi, i = J) : (r = hi, i = Y), Fi(Bt(r, i), It(i - r)), Z || Ii(0, l)), Z && (D.ori == 1 ? (r = pi, i = J) : (r = hi, i = Y), Ii(Bt(r, i), It(i - r)), X || Fi(0, c)), !X && !Z && (Fi(0, 0), Ii(0, 0));
			}
		}
		if (bi._x = X, bi._y = Z, e == null) {
			if (a) {
				if (Sa != null) {
					let [e, t] = $.scales;
					$.values[0] = e == null ? null : Mi(D.ori == 0 ? J : Y, e), $.values[1] = t == null ? null : Mi(D.ori == 1 ? J : Y, t);
				}
				wa(Ve, r, J, Y, z, B, o);
			}
			if (bn) {
				let e = a && $.setSeries, t = hn.prox;
				ki == null ? Di <= t && Ti(Oi, Ai, !0, e) : Di > t ? Ti(null, Ai, !0, e) : Oi != ki && Ti(Oi, Ai, !0, e);
			}
		}
		Jt && (j.idx = o, ea()), n !== !1 && ba("setCursor");
	}
	let ra = null;
	Object.defineProperty(r, "rect", { get() {
		return ra ?? ia(!1), ra;
	} });
	function ia(e = !1) {
		e ? ra = null : (ra = m.getBoundingClientRect(), ba("syncRect", ra));
	}
	function aa(e, t, n, r, i, a, o) {
		M._lock || yi && e != null && e.movementX == 0 && e.movementY == 0 || (oa(e, t, n, r, i, a, o, !1, e != null), e == null ? na(t, !0, !1) : na(null, !0, !0));
	}
	function oa(e, t, n, i, a, o, c, l, u) {
		if (ra ?? ia(!1), cn(e), e != null) n = e.clientX - ra.left, i = e.clientY - ra.top;
		else {
			if (n < 0 || i < 0) {
				J = -10, Y = -10;
				return;
			}
			let [e, r] = $.scales, c = t.cursor.sync, [l, u] = c.values, [d, f] = c.scales, [p, m] = $.match, h = t.axes[0].side % 2 == 1, g = D.ori == 0 ? z : B, _ = D.ori == 1 ? z : B, v = h ? o : a, y = h ? a : o, x = h ? i : n, S = h ? n : i;
			if (n = d == null ? x / v * g : p(e, d) ? s(l, b[e], g, 0) : -10, i = f == null ? S / y * _ : m(r, f) ? s(u, b[r], _, 0) : -10, D.ori == 1) {
				let e = n;
				n = i, i = e;
			}
		}
		u && (t == null || t.cursor.event.type == Ve) && ((n <= 1 || n >= z - 1) && (n = on(n, z)), (i <= 1 || i >= B - 1) && (i = on(i, B))), l ? (ci = n, fi = i, [pi, hi] = M.move(r, n, i)) : (J = n, Y = i);
	}
	let sa = {
		width: 0,
		height: 0,
		left: 0,
		top: 0
	};
	function ca() {
		Si(sa, !1);
	}
	let la, ua, da, fa;
	function pa(e, t, n, i, a, o, s) {
		yi = !0, X = Z = bi._x = bi._y = !1, oa(e, t, n, i, a, o, s, !0, !1), e != null && (nt(Ue, $e, ma, !1), wa(He, r, pi, hi, z, B, null));
		let { left: c, top: l, width: u, height: d } = Q;
		la = c, ua = l, da = u, fa = d;
	}
	function ma(e, t, n, i, a, o, s) {
		yi = bi._x = bi._y = !1, oa(e, t, n, i, a, o, s, !1, !0);
		let { left: c, top: l, width: u, height: d } = Q, f = u > 0 || d > 0, p = la != c || ua != l || da != u || fa != d;
		if (f && p && Si(Q), bi.setScale && f && p) {
			let e = c, t = u, n = l, r = d;
			if (D.ori == 1 && (e = l, t = d, n = c, r = u), X && wi(S, Mi(e, S), Mi(e + t, S)), Z) for (let e in b) {
				let t = b[e];
				e != S && t.from == null && t.min != H && wi(e, Mi(n + r, e), Mi(n, e));
			}
			ca();
		} else M.lock && (M._lock = !M._lock, na(t, !0, e != null));
		e != null && (rt(Ue, $e), wa(Ue, r, J, Y, z, B, null));
	}
	function ha(e, t, n, r, i, a, o) {
		if (M._lock) return;
		cn(e);
		let s = yi;
		if (yi) {
			let e = !0, t = !0, n, r;
			D.ori == 0 ? (n = X, r = Z) : (n = Z, r = X), n && r && (e = J <= 10 || J >= z - 10, t = Y <= 10 || Y >= B - 10), n && e && (J = J < pi ? 0 : z), r && t && (Y = Y < hi ? 0 : B), na(null, !0, !0), yi = !1;
		}
		J = -10, Y = -10, oe.fill(null), na(null, !0, !0), s && (yi = s);
	}
	function ga(e, t, n, i, a, o, s) {
		M._lock || (cn(e), Hn(), ca(), e != null && wa(Ke, r, J, Y, z, B, null));
	}
	function _a() {
		y.forEach($i), Zt(r.width, r.height, !0);
	}
	mt(Xe, et, _a);
	let va = {};
	va.mousedown = pa, va.mousemove = aa, va.mouseup = ma, va.dblclick = ga, va.setSeries = (e, t, n, i) => {
		n = (0, $.match[2])(r, t, n), n != -1 && Ti(n, i, !0, !1);
	}, se && (nt(He, m, pa), nt(Ve, m, aa), nt(We, m, (e) => {
		cn(e), ia(!1);
	}), nt(Ge, m, ha), nt(Ke, m, ga), Li.add(r), r.syncRect = ia);
	let ya = r.hooks = e.hooks || {};
	function ba(e, t, n) {
		Pr ? Fr.push([
			e,
			t,
			n
		]) : e in ya && ya[e].forEach((e) => {
			e.call(null, r, t, n);
		});
	}
	(e.plugins || []).forEach((e) => {
		for (let t in e.hooks) ya[t] = (ya[t] || []).concat(e.hooks[t]);
	});
	let xa = (e, t, n) => n, $ = Cn({
		key: null,
		setSeries: !1,
		filters: {
			pub: tn,
			sub: tn
		},
		scales: [S, v[1] ? v[1].scale : null],
		match: [
			nn,
			nn,
			xa
		],
		values: [null, null]
	}, M.sync);
	$.match.length == 2 && $.match.push(xa), M.sync = $;
	let Sa = $.key, Ca = li(Sa);
	function wa(e, t, n, r, i, a, o) {
		$.filters.pub(e, t, n, r, i, a, o) && Ca.pub(e, t, n, r, i, a, o);
	}
	Ca.sub(r), r.pub = function(e, t, n, r, i, a, o) {
		$.filters.sub(e, t, n, r, i, a, o) && va[e](null, t, n, r, i, a, o);
	}, r.destroy = function() {
		Ca.unsub(r), Li.delete(r), tt.clear(), ht(Xe, et, _a), l.remove(), F?.remove(), ba("destroy");
	};
	function Ta() {
		ba("init", e, t), Vn(t || e.data, !1), A[S] ? qr(S, A[S]) : Hn(), Gt = Q.show && (Q.width > 0 || Q.height > 0), Ut = Jt = !0, Zt(e.width, e.height);
	}
	return v.forEach(kn), y.forEach(jn), n ? n instanceof HTMLElement ? (n.appendChild(l), Ta()) : n(r, Ta) : Ta(), r;
}
ea.assign = Cn, ea.fmtNum = Nt, ea.rangeNum = kt, ea.rangeLog = Ct, ea.rangeAsinh = wt, ea.orient = fi, ea.pxRatio = L, ea.join = function(e, t) {
	if (An(e)) {
		let t = e[0].slice();
		for (let n = 1; n < e.length; n++) t.push(...e[n].slice(1));
		return jn(t[0]) || (t = kn(t)), t;
	}
	let n = /* @__PURE__ */ new Set();
	for (let t = 0; t < e.length; t++) {
		let r = e[t][0], i = r.length;
		for (let e = 0; e < i; e++) n.add(r[e]);
	}
	let r = [Array.from(n).sort((e, t) => e - t)], i = r[0].length, a = /* @__PURE__ */ new Map();
	for (let e = 0; e < i; e++) a.set(r[0][e], e);
	for (let n = 0; n < e.length; n++) {
		let o = e[n], s = o[0];
		for (let e = 1; e < o.length; e++) {
			let c = o[e], l = Array(i).fill(void 0), u = t ? t[n][e] : Tn, d = [];
			for (let e = 0; e < c.length; e++) {
				let t = c[e], n = a.get(s[e]);
				t === null ? u != wn && (l[n] = t, u == En && d.push(n)) : l[n] = t;
			}
			Dn(l, d, i), r.push(l);
		}
	}
	return r;
}, ea.fmtDate = zn, ea.tzDate = function(e, t) {
	let n;
	return t == "UTC" || t == "Etc/UTC" ? n = /* @__PURE__ */ new Date(+e + e.getTimezoneOffset() * 6e4) : t == Bn ? n = e : (n = new Date(e.toLocaleString("en-US", { timeZone: t })), n.setMilliseconds(e.getMilliseconds())), n;
}, ea.sync = li;
{
	ea.addGap = _i, ea.clipGaps = gi;
	let e = ea.paths = { points: Ei };
	e.linear = Ai, e.stepped = ji, e.bars = Ni, e.spline = Fi;
}
// src/ui/units.ts
var ta = {
	"bit/s": [
		[1e9, "Gbit/s"],
		[1e6, "Mbit/s"],
		[1e3, "kbit/s"],
		[1, "bit/s"]
	],
	s: [
		[1, "s"],
		[.001, "ms"],
		[1e-6, "µs"],
		[1e-9, "ns"]
	],
	bytes: [
		[1e9, "GB"],
		[1e6, "MB"],
		[1e3, "kB"],
		[1, "B"]
	]
}, na = (e, t = 4) => {
	if (!Number.isFinite(e)) return "–";
	let n = Number(e.toPrecision(t));
	return Math.abs(n) >= 1e6 || n !== 0 && Math.abs(n) < 1e-4 ? n.toExponential() : String(n);
};
function ra(e, t) {
	let n = ta[t];
	if (!n) return [1, t];
	let r = Math.abs(e);
	return n.find(([e]) => r >= e * .9999995) || (r === 0 ? n.find(([e]) => e === 1) : n.at(-1));
}
function ia(e, t, n = 4) {
	if (e == null || Number.isNaN(e)) return "–";
	let [r, i] = ra(e, t);
	return `${na(e / r, n)} ${i}`.trim();
}
function aa(e, t, n = 800) {
	let [r, i] = t >= 1 ? [1, "s"] : ra(t, "s"), a = Math.min(12, Math.max(0, Math.ceil(-Math.log10(t / n / r))));
	return `${Number((e / r).toFixed(a))} ${i}`;
}
// src/plots/figure.ts
function oa(e, [t, n], r) {
	let [i, a] = [1e400, -1e400], o = (e) => {
		!Number.isFinite(e) || r && e <= 0 || (e < i && (i = e), e > a && (a = e));
	};
	for (let { curve: i, course: a, rug: s } of e.layers) {
		if (s) continue;
		let e = a === "dots" ? 0 : 1, c = Math.max(0, i.after(t) - e), l = Math.min(i.length, i.from(n) + e), [u, d] = i.extent(c, l);
		u > d || (o(d), o(r && u <= 0 ? sa(i, c, l) : u));
	}
	for (let r of e.marks) r.x >= t && r.x <= n && o(r.y);
	for (let t of e.levels) o(t.y);
	if (i > a) return r ? [1, 10] : [0, 1];
	if (r) {
		let t = Math.max(1.3, (a / i) ** .05);
		return [i / t, a * (e.marks.length ? t ** 3 : t)];
	}
	if (e.signed) {
		let e = Math.max(Math.abs(i), Math.abs(a)) || 1;
		return [-e * 1.08, e * 1.08];
	}
	let s = a === 0 ? 1 : a * 1.08;
	return i > 0 && i > a * .6 && a > i ? [i - (a - i) * .3, a + (a - i) * .15] : [Math.min(0, i), s];
}
function sa({ y: e }, t, n) {
	let r = 1e400;
	for (let i = t; i < n; i++) e[i] > 0 && e[i] < r && (r = e[i]);
	return r;
}
// src/plots/ticks.ts
function ca(e, t, n) {
	let [r, i] = [Math.floor(Math.log10(e)), Math.ceil(Math.log10(t))], a = [];
	for (let e = r; e <= i; e++) a.push(e);
	let o = (n) => n >= e * .9999 && n <= t * 1.0001, s = a.filter((e) => o(10 ** e)), c = Math.ceil(s.length / n);
	return s.length >= 3 ? s.filter((e) => e % c === 0).map((e) => 10 ** e) : a.flatMap((e) => [
		1,
		2,
		5
	].map((t) => Number(`${t}e${e}`))).filter(o);
}
// src/plots/plot.ts
var la = (e) => e < 480 ? 70 : 76, ua = [
	[],
	[6, 4],
	[2, 3],
	[
		10,
		3,
		2,
		3
	]
], da = class {
	figure;
	view;
	options;
	element;
	host = I("div", { class: "plot-host" });
	legend = I("div", { class: "legend" });
	values = [];
	chart = null;
	forget;
	resizing;
	waiting = 0;
	log = !1;
	drawMs = 0;
	constructor(e, t, n) {
		this.figure = e, this.view = t, this.options = n;
		let r = I("span", { class: "plot-title" }, e.title);
		this.element = I("figure", {
			class: "plot",
			"data-figure": e.id
		}, I("figcaption", {}, r, this.legend), this.host), this.host.tabIndex = 0, this.host.setAttribute("role", "application"), this.host.addEventListener("keydown", (e) => this.key(e)), this.pointers(), this.forget = t.listen(() => this.later(), () => this.cursor()), this.resizing = new ResizeObserver(() => this.resize()), this.resizing.observe(this.host), this.describe(), this.legendOf();
	}
	show(e) {
		this.figure = e, this.element.querySelector(".plot-title").textContent = e.title, this.describe(), this.legendOf(), this.chart && (e.log === this.log ? this.redraw() : this.make());
	}
	restyle() {
		this.legendOf(), this.chart && this.make();
	}
	destroy() {
		this.forget(), this.resizing.disconnect(), cancelAnimationFrame(this.waiting), this.chart?.destroy(), this.chart = null;
	}
	describe() {
		let e = this.figure.layers.map((e) => e.name).filter(Boolean);
		this.host.setAttribute("aria-label", `${this.figure.title} over time: ${e.join(", ")}. Arrow keys move the cursor, plus and minus zoom, 0 shows all.`);
	}
	legendOf() {
		this.legend.replaceChildren(), this.values.length = 0;
		for (let e of this.figure.layers) {
			let t = I("span", { class: "value" });
			if (this.values.push(t), !e.name) continue;
			let n = de(ce(e.colour), e.dash ?? 0);
			this.legend.append(I("span", { class: "entry" }, n, e.name, " ", t));
		}
		for (let e of this.figure.levels) this.legend.append(I("span", { class: "entry" }, de(ce(e.colour), 1), e.label));
		this.figure.marks.length && this.legend.append(I("span", { class: "entry" }, I("i", {
			class: "ring",
			"aria-hidden": "true"
		}), "published")), this.cursor();
	}
	resize() {
		let e = Math.floor(this.host.clientWidth);
		e < 60 || (this.chart ? this.chart.width !== e && this.chart.setSize({
			width: e,
			height: this.options.height
		}) : this.make());
	}
	later() {
		this.waiting ||= requestAnimationFrame(() => {
			this.waiting = 0, this.redraw();
		});
	}
	redraw() {
		let e = this.chart;
		if (!e) return;
		let [t, n] = this.view.span, [r, i] = this.values_();
		e.batch(() => {
			e.setScale("x", {
				min: t,
				max: n
			}), e.setScale("y", {
				min: r,
				max: i
			});
		}), this.cursor();
	}
	values_() {
		return this.options.range?.(this.view.span) ?? oa(this.figure, this.view.span, this.figure.log);
	}
	make() {
		this.chart?.destroy(), this.log = this.figure.log;
		let e = F(), t = Math.floor(this.host.clientWidth), n = {
			stroke: e.soft,
			font: "12px system-ui, sans-serif",
			ticks: {
				stroke: e.grid,
				size: 4
			},
			grid: {
				stroke: e.grid,
				width: 1
			}
		};
		this.chart = new ea({
			width: t,
			height: this.options.height,
			padding: [
				8,
				14,
				0,
				0
			],
			legend: { show: !1 },
			scales: {
				x: {
					time: !1,
					auto: !1
				},
				y: {
					auto: !1,
					distr: this.log ? 3 : 1
				}
			},
			axes: [{
				...n,
				size: 28,
				values: (e, t) => this.times(t),
				space: t < 480 ? 60 : 80
			}, {
				...n,
				size: la(t),
				values: (e, t) => this.labels(t),
				space: 34,
				filter: (e, t) => t,
				...this.log ? { splits: (e, t, n, r) => ca(n, r, this.options.height / 34) } : {}
			}],
			series: [{}, {
				scale: "y",
				paths: () => null,
				points: { show: !1 }
			}],
			cursor: {
				y: !1,
				points: { show: !1 },
				drag: {
					x: !0,
					y: !1,
					setScale: !1,
					dist: 6
				}
			},
			hooks: {
				draw: [(e) => this.draw(e)],
				setCursor: [(e) => this.pointed(e)],
				setSelect: [(e) => this.selected(e)]
			}
		}, [this.view.span, [null, null]], this.host), this.redraw();
	}
	times(e) {
		let [t, n] = this.view.span, r = n - t, [i, a] = r >= 1 ? [1, "s"] : ra(r, "s");
		return e.map((t, n) => {
			let r = String(Number((t / i).toPrecision(9)));
			return n === e.length - 1 ? `${r} ${a}` : r;
		});
	}
	labels(e) {
		let [t, n] = ra(Math.max(...e.map((e) => Math.abs(e ?? 0))), this.figure.unit);
		if (!this.log) {
			let r = e.length - 1;
			return e.map((e, i) => i === r ? `${na(e / t)} ${n}` : na(e / t));
		}
		return e.map((e) => ia(e, this.figure.unit, 2));
	}
	draw(e) {
		let t = performance.now(), { ctx: n } = e, { left: r, top: i, width: a, height: o } = e.bbox, s = devicePixelRatio || 1;
		n.save(), n.beginPath(), n.rect(r, i, a, o), n.clip();
		for (let t of this.figure.levels) {
			let i = Math.round(e.valToPos(t.y, "y", !0)) + .5;
			n.strokeStyle = ce(t.colour), n.setLineDash([8 * s, 5 * s]), n.lineWidth = 1.2 * s, n.beginPath(), n.moveTo(r, i), n.lineTo(r + a, i), n.stroke();
		}
		let c = [...this.figure.layers].sort((e, t) => Number(t.beside ?? !1) - Number(e.beside ?? !1));
		for (let t of c) fa(e, t, this.view.span, this.log, s);
		this.drawMarks(e, s), n.restore(), this.drawMs = performance.now() - t;
	}
	drawMarks(e, t) {
		let { ctx: n } = e, r = F(), [i, a] = this.view.span;
		for (let o of this.figure.marks) {
			if (o.x < i || o.x > a) continue;
			let [s, c] = [e.valToPos(o.x, "x", !0), e.valToPos(o.y, "y", !0)];
			n.setLineDash([]), n.beginPath(), n.arc(s, c, 4.5 * t, 0, 2 * Math.PI), n.fillStyle = r.paper, n.fill(), n.strokeStyle = r.ink, n.lineWidth = 1.6 * t, n.stroke(), n.font = `${12 * t}px system-ui, sans-serif`;
			let l = s + n.measureText(o.label).width + 10 * t > e.bbox.left + e.bbox.width;
			n.textAlign = l ? "right" : "left", n.lineWidth = 3 * t, n.strokeStyle = r.paper;
			let u = [s + (l ? -9 : 9) * t, c - 6 * t];
			n.strokeText(o.label, ...u), n.fillStyle = r.ink, n.fillText(o.label, ...u);
		}
	}
	pointed(e) {
		let { left: t } = e.cursor;
		this.view.point(t == null || t < 0 ? null : e.posToVal(t, "x"));
	}
	selected(e) {
		let { left: t, width: n } = e.select;
		if (n < 2) return;
		let r = [e.posToVal(t, "x"), e.posToVal(t + n, "x")];
		e.setSelect({
			left: 0,
			top: 0,
			width: 0,
			height: 0
		}, !1), this.view.show(r);
	}
	cursor() {
		let e = this.view.cursor, t = this.chart;
		if (t) {
			let n = e === null ? -10 : t.valToPos(e, "x");
			t.cursor.left !== n && t.setCursor({
				left: n,
				top: 10
			}, !1);
		}
		this.figure.layers.forEach((t, n) => {
			let r = this.values[n];
			r && (r.textContent = e === null ? "" : this.valueAt(t, e));
		});
	}
	valueAt(e, t) {
		if (e.rug) return `${e.curve.after(t)} until ${aa(t, this.view.span[1] - this.view.span[0])}`;
		let n = e.curve.at(t);
		return Number.isNaN(n) ? "–" : (this.figure.signed && n > 0 ? "+" : "") + ia(n, this.figure.unit);
	}
	key(e) {
		let t = this.view, [n, r] = t.span, i = (r - n) / (e.shiftKey ? 20 : 200), a = t.cursor ?? (n + r) / 2, o = (e) => {
			t.point(Math.min(t.whole[1], Math.max(t.whole[0], e))), (e < n || e > r) && t.pan(e < n ? -.1 : .1), this.say();
		}, s = {
			ArrowLeft: () => o(a - i),
			ArrowRight: () => o(a + i),
			"+": () => t.zoom(.5, a),
			"=": () => t.zoom(.5, a),
			"-": () => t.zoom(2, a),
			0: () => t.reset(),
			Home: () => o(n),
			End: () => o(r),
			PageUp: () => t.pan(-.5),
			PageDown: () => t.pan(.5),
			Escape: () => t.point(null)
		}[e.key];
		!s || e.ctrlKey || e.metaKey || e.altKey || (e.preventDefault(), s());
	}
	say() {
		let e = this.view.cursor, t = document.getElementById("live");
		if (e === null || !t) return;
		let n = this.figure.layers.filter((e) => e.name).map((t) => `${t.name} ${this.valueAt(t, e)}`);
		t.textContent = `${aa(e, this.view.span[1] - this.view.span[0])}: ${n.join(", ")}`;
	}
	pointers() {
		this.host.addEventListener("wheel", (e) => {
			if (!this.chart || !(e.ctrlKey || e.metaKey || e.shiftKey)) return;
			e.preventDefault();
			let t = e.deltaY || e.deltaX;
			if (e.shiftKey) return this.view.pan(Math.sign(t) * .1);
			this.view.zoom(t > 0 ? 1.25 : .8, this.timeOf(e.clientX));
		}, { passive: !1 }), this.host.addEventListener("dblclick", () => this.view.reset());
		let e = /* @__PURE__ */ new Map(), t = null, n = () => [...e.values()].sort((e, t) => e - t);
		this.host.addEventListener("pointerdown", (r) => {
			r.pointerType === "touch" && (e.set(r.pointerId, r.clientX), t = e.size === 2 ? n().map((e) => this.timeOf(e)) : null, e.size === 1 && this.view.point(this.timeOf(r.clientX)));
		}), this.host.addEventListener("pointermove", (r) => {
			if (!e.has(r.pointerId)) return;
			if (e.set(r.pointerId, r.clientX), e.size === 1) return this.view.point(this.timeOf(r.clientX));
			if (!t || e.size !== 2) return;
			let [i, a] = n(), o = this.over();
			if (a - i < 10) return;
			let s = (t[1] - t[0]) / (a - i), c = t[0] - (i - o.left) * s;
			this.view.show([c, c + o.width * s]);
		});
		let r = (n) => {
			e.delete(n.pointerId), t = null;
		};
		this.host.addEventListener("pointerup", r), this.host.addEventListener("pointercancel", r), this.host.addEventListener("pointerleave", r);
	}
	over() {
		return this.chart.over.getBoundingClientRect();
	}
	timeOf(e) {
		return this.chart.posToVal(e - this.over().left, "x");
	}
};
function fa(e, t, n, r, a) {
	let { ctx: o } = e, { left: s, top: c, width: l } = e.bbox, u = (t) => e.valToPos(t, "x", !0), d = r ? e.scales.y.min : -1e400, f = (t) => e.valToPos(r && t < d ? d : t, "y", !0);
	if (o.lineJoin = "round", o.lineCap = "butt", o.globalAlpha = t.beside && t.course === "dots" ? .55 : 1, o.lineWidth = (t.beside ? 1.1 : 1.7) * a, t.rug) {
		o.strokeStyle = ce(t.colour), o.setLineDash([]);
		let [e, r] = [t.curve.from(n[0]), t.curve.after(n[1])];
		o.beginPath();
		let i = -1;
		for (let n = e; n < r; n++) {
			let e = Math.round(u(t.curve.x[n]));
			e !== i && (i = e, o.moveTo(e + .5, c + 1), o.lineTo(e + .5, c + 9 * a));
		}
		o.stroke();
		return;
	}
	if (t.course === "dots") {
		o.fillStyle = ce(t.colour);
		let e = 2.4 * a;
		i(t.curve, "dots", n, l, {
			move: (t, n) => o.fillRect(u(t) - e / 2, f(n) - e / 2, e, e),
			line: () => void 0
		}), o.globalAlpha = 1;
		return;
	}
	let p = (e, r, s) => {
		o.strokeStyle = ce(e), o.setLineDash((ua[r % 4] ?? []).map((e) => e * a)), o.beginPath();
		let c = Math.max(1, Math.ceil(l * (s[1] - s[0]) / (n[1] - n[0])));
		i(t.curve, t.course, s, c, {
			move: (e, t) => o.moveTo(u(e), f(t)),
			line: (e, t) => o.lineTo(u(e), f(t))
		}, t.untilS), o.stroke();
	}, m = t.categories && pa(t, n, l);
	if (!m) return p(t.colour, t.dash ?? 0, n);
	let h = [s, s + l];
	for (let { from: t, to: n, kind: r } of m) !r || u(n) < h[0] || u(t) > h[1] || (o.save(), o.beginPath(), o.rect(u(t) - 1, c, u(n) - u(t) + 2, e.bbox.height), o.clip(), p(r.colour, r.dash, [t, n]), o.restore());
}
function pa(e, [t, n], r) {
	let { codes: i, kinds: a } = e.categories, { curve: o } = e, s = Math.max(0, o.after(t) - 1), c = Math.min(o.length, o.from(n) + 1), l = [];
	for (let e = s; e < c;) {
		let s = e + 1;
		for (; s < c && i[s] === i[e];) s++;
		let u = s < o.length ? o.x[s] : Math.max(n, o.x[s - 1]);
		if (l.push({
			from: Math.max(t, o.x[e]),
			to: Math.min(n, u),
			kind: a[i[e]] ?? null
		}), l.length > r) return null;
		e = s;
	}
	return l;
}
// src/plots/band.ts
function ma(e, [t, n], r) {
	let i = e.categories.kinds.length, a = Array.from({ length: r }, () => new Float64Array(i)), { x: o, categories: s } = e, c = (n - t) / r, [l, u] = [0, o.length];
	for (; l < u;) {
		let e = l + u >>> 1;
		o[e] <= t ? l = e + 1 : u = e;
	}
	for (let i = Math.max(0, l - 1); i < o.length; i++) {
		let l = Math.max(t, o[i]), u = Math.min(n, i + 1 < o.length ? o[i + 1] : e.untilS);
		if (l >= n) break;
		if (u <= l) continue;
		let d = s.codes[i], f = Math.min(r - 1, Math.floor((u - t) / c));
		for (let e = Math.floor((l - t) / c); e <= f; e++) {
			let n = Math.min(u, t + (e + 1) * c) - Math.max(l, t + e * c);
			n > 0 && (a[e][d] += n / c);
		}
	}
	return a;
}
var ha = class {
	band;
	view;
	element;
	canvas = I("canvas", { height: 16 });
	words = I("span", { class: "legend" });
	forget;
	resizing;
	seen = /* @__PURE__ */ new Set();
	constructor(e, t) {
		this.band = e, this.view = t, this.element = I("div", { class: "band" }, I("div", { class: "band-words" }, this.words), this.canvas), this.canvas.setAttribute("role", "img"), this.forget = t.listen(() => this.draw(), () => this.legend()), this.resizing = new ResizeObserver(() => this.draw()), this.resizing.observe(this.element);
	}
	show(e) {
		this.band = e, this.draw();
	}
	destroy() {
		this.forget(), this.resizing.disconnect();
	}
	restyle() {
		this.draw();
	}
	legend() {
		let { band: e, view: t } = this, n = t.cursor, r = -1;
		if (n !== null) {
			let t = 0, i = e.x.length;
			for (; t < i;) {
				let r = t + i >>> 1;
				e.x[r] <= n ? t = r + 1 : i = r;
			}
			r = t > 0 ? e.categories.codes[t - 1] : -1;
		}
		let { seen: i } = this, a = e.categories.kinds.map((e, t) => !e || !i.has(t) ? null : I("span", { class: t === r ? "entry now" : "entry" }, de(ce(e.colour)), e.label)), o = e.name === "bound" ? "held by" : "rule";
		this.words.replaceChildren(I("b", {}, e.subject ? `${e.subject}: ${o}` : o), ...a.filter((e) => e !== null));
		let s = e.categories.kinds.filter((e, t) => e && i.has(t)).map((e) => e.label);
		this.canvas.setAttribute("aria-label", `${e.subject}: ${o} over time: ${s.join(", ")}`);
	}
	draw() {
		let e = this.element.clientWidth, t = la(e), n = Math.max(10, e - t - 14), r = devicePixelRatio || 1;
		this.canvas.width = Math.round(n * r), this.canvas.height = Math.round(14 * r), this.canvas.style.width = `${n}px`, this.canvas.style.height = "14px", this.canvas.style.marginLeft = `${t}px`;
		let i = this.canvas.getContext("2d");
		if (!i) return;
		let a = this.canvas.width;
		this.seen.clear(), ma(this.band, this.view.span, a).forEach((e, t) => {
			let n = 0;
			e.forEach((e, r) => {
				e > 0 && this.seen.add(r);
				let a = this.band.categories.kinds[r];
				e <= 0 || !a || (i.fillStyle = ce(a.colour), i.fillRect(t, n * this.canvas.height, 1, e * this.canvas.height + .5), n += e);
			});
		}), this.legend();
	}
}, ga = class {
	view;
	onchoose;
	element = I("div", {
		class: "findings",
		role: "group",
		"aria-label": "Findings over time"
	});
	findings = [];
	forget;
	resizing;
	constructor(e, t) {
		this.view = e, this.onchoose = t, this.forget = e.listen(() => this.draw(), () => void 0), this.resizing = new ResizeObserver(() => this.draw()), this.resizing.observe(this.element);
	}
	show(e) {
		this.findings = e, this.draw();
	}
	destroy() {
		this.forget(), this.resizing.disconnect();
	}
	draw() {
		let e = this.element.clientWidth;
		if (!e) return;
		let t = la(e), n = Math.max(10, e - t - 14), [r, i] = this.view.span, a = (e) => t + Math.min(1, Math.max(0, (e - r) / (i - r))) * n, o = this.findings.map((e, t) => {
			let [n, o] = e.span_s, s = I("div", { class: "finding-row" });
			if (o < r || n > i) return s;
			let c = `${e.subject}: ${e.title}`, l = I("button", {
				type: "button",
				class: "finding-bar",
				title: c,
				onclick: () => this.onchoose(t)
			}, c), [u, d] = [a(n), a(o)];
			return l.style.left = `${u}px`, l.style.width = `${Math.max(3, d - u)}px`, s.append(l), s;
		});
		this.element.replaceChildren(...o.filter((e) => e.childNodes.length)), this.element.hidden = this.element.childNodes.length === 0;
	}
}, _a = 5, va = class {
	view;
	options;
	element = I("div", { class: "stack" });
	columns = [];
	shape = "";
	forgetTheme;
	constructor(e, t) {
		this.view = e, this.options = t, this.forgetTheme = P(() => {
			for (let { plots: e, bands: t } of this.columns) [...e, ...t].forEach((e) => e.restyle());
		});
	}
	show(e) {
		let t = JSON.stringify(e.map(({ figures: e }) => e.map(({ id: e, bands: t }) => [e, t.length])));
		t !== this.shape && this.make(e, t), e.forEach(({ figures: e, findings: t, heading: n }, r) => {
			let i = this.columns[r];
			i.figures = e, i.heading.replaceChildren(...n ? [n] : []), i.bars.show(t.slice(0, _a));
		});
		for (let e of this.figures) e.log = this.figures.some(({ id: t, log: n }) => t === e.id && n);
		e.forEach(({ figures: e }, t) => {
			let n = this.columns[t], r = e.flatMap((e) => e.bands);
			e.forEach((e, t) => n.plots[t].show(e)), r.forEach((e, t) => n.bands[t].show(e));
		});
	}
	make(e, t) {
		this.clear(), this.shape = t, e.forEach(({ figures: e }, t) => {
			let n = I("div", { class: "column" }), r = I("div", { class: "column-heading" }), i = new ga(this.view, (e) => this.options.onfinding(t, e)), a = {
				figures: e,
				plots: [],
				bands: [],
				bars: i,
				heading: r
			};
			n.append(r), e.forEach((e, t) => {
				let r = t === 0 ? Math.round(this.options.height * 1.2) : this.options.height, o = new da(e, this.view, {
					height: r,
					range: (t) => this.range(e.id, t)
				});
				a.plots.push(o), n.append(o.element);
				for (let t of e.bands) {
					let e = new ha(t, this.view);
					a.bands.push(e), n.append(e.element);
				}
				t === 0 && n.append(i.element);
			}), this.columns.push(a), this.element.append(n);
		}), this.element.dataset.columns = String(e.length);
	}
	range(e, t) {
		let n = this.columns.flatMap(({ figures: t }) => t.filter((t) => t.id === e)).map((e) => oa(e, t, e.log));
		return [Math.min(...n.map(([e]) => e)), Math.max(...n.map(([, e]) => e))];
	}
	get figures() {
		return this.columns.flatMap(({ figures: e }) => e);
	}
	get drawMs() {
		return this.columns.flatMap(({ plots: e }) => e).reduce((e, t) => e + t.drawMs, 0);
	}
	clear() {
		for (let { plots: e, bands: t, bars: n } of this.columns) [
			...e,
			...t,
			n
		].forEach((e) => e.destroy());
		this.columns = [], this.element.replaceChildren();
	}
	destroy() {
		this.forgetTheme(), this.clear();
	}
}, ya = class {
	wholeSpan = [0, 1];
	shown = [0, 1];
	at = null;
	onSpan = /* @__PURE__ */ new Set();
	onCursor = /* @__PURE__ */ new Set();
	get whole() {
		return this.wholeSpan;
	}
	get span() {
		return this.shown;
	}
	get cursor() {
		return this.at;
	}
	get zoomed() {
		return this.shown[0] !== this.wholeSpan[0] || this.shown[1] !== this.wholeSpan[1];
	}
	listen(e, t) {
		return this.onSpan.add(e), this.onCursor.add(t), () => {
			this.onSpan.delete(e), this.onCursor.delete(t);
		};
	}
	setWhole(e) {
		if (e[0] === this.wholeSpan[0] && e[1] === this.wholeSpan[1]) return;
		let t = this.zoomed;
		this.wholeSpan = e;
		let n = this.shown[0] >= e[0] && this.shown[1] <= e[1];
		t && n || (this.shown = [...e]), this.onSpan.forEach((e) => e());
	}
	show([e, t]) {
		let [n, r] = this.wholeSpan, i = Math.min(r - n, Math.max(1e-9, t - e)), a = Math.min(Math.max(e, n), r - i);
		(a !== this.shown[0] || a + i !== this.shown[1]) && (this.shown = [a, a + i], this.onSpan.forEach((e) => e()));
	}
	reset() {
		this.show(this.wholeSpan);
	}
	zoom(e, t = (this.shown[0] + this.shown[1]) / 2) {
		let [n, r] = this.shown;
		this.show([t - (t - n) * e, t + (r - t) * e]);
	}
	pan(e) {
		let [t, n] = this.shown;
		this.show([t + e * (n - t), n + e * (n - t)]);
	}
	point(e) {
		e !== this.at && (this.at = e, this.onCursor.forEach((e) => e()));
	}
}, ba = "WEIRRUN1", xa = 16, $ = (e) => Math.ceil(e / 8) * 8;
function Sa(e, t) {
	let n = (t, n) => new TextDecoder().decode(new Uint8Array(e, t, n - t));
	if (e.byteLength < xa || n(0, 8) !== ba) throw Error("The server's answer is no run.");
	let r = Number(new DataView(e).getBigUint64(8, !0));
	if (xa + r > e.byteLength) throw Error("The server's answer is cut off.");
	let i = JSON.parse(n(xa, xa + r)), a = xa + r, o = (t) => {
		let n = a;
		if (a += $(t), a > e.byteLength) throw Error("The server's answer is cut off.");
		return n;
	}, s = i.tables.map(({ name: t, rows: n, columns: r }) => {
		let i = {
			name: t,
			rows: n,
			numbers: {},
			words: {}
		};
		for (let t of r) t.words ? i.words[t.name] = {
			words: t.words,
			codes: new Uint32Array(e, o(4 * n), n)
		} : i.numbers[t.name] = new Float64Array(e, o(8 * n), n);
		return i;
	}), c = JSON.parse(i.explanationJson);
	return {
		summary: JSON.parse(i.summaryJson),
		summaryJson: i.summaryJson,
		resolvedToml: i.resolvedToml,
		tables: s,
		explanation: c,
		explanationJson: i.explanationJson,
		remedies: Ca(c),
		packets: null,
		wallMs: t
	};
}
function Ca(e) {
	return e.findings.flatMap((e, t) => e.remedies.map(({ text: e, place: n, set: r }) => ({
		finding: t,
		text: e,
		place: n,
		set: r.map(wa)
	})));
}
function wa(e) {
	let t = e.indexOf("=");
	return [e.slice(0, t), e.slice(t + 1)];
}
// src/widget.ts
var Ta = () => {
	let e = new CSSStyleSheet();
	return e.replaceSync(".uplot,.uplot *,.uplot :before,.uplot :after{box-sizing:border-box}.uplot{width:min-content;font-family:system-ui,-apple-system,Segoe UI,Roboto,Helvetica Neue,Arial,Noto Sans,sans-serif,Apple Color Emoji,Segoe UI Emoji,Segoe UI Symbol,Noto Color Emoji;line-height:1.5}.u-title{text-align:center;font-size:18px;font-weight:700}.u-wrap{-webkit-user-select:none;user-select:none;position:relative}.u-over,.u-under{position:absolute}.u-under{overflow:hidden}.uplot canvas{width:100%;height:100%;display:block;position:relative}.u-axis{position:absolute}.u-legend{text-align:center;margin:auto;font-size:14px}.u-inline{display:block}.u-inline *{display:inline-block}.u-inline tr{margin-right:16px}.u-legend th{font-weight:600}.u-legend th>*{vertical-align:middle;display:inline-block}.u-legend .u-marker{width:1em;height:1em;margin-right:4px;background-clip:padding-box!important}.u-inline.u-live th:after{content:\":\";vertical-align:middle}.u-inline:not(.u-live) .u-value{display:none}.u-series>*{padding:4px}.u-series th{cursor:pointer}.u-legend .u-off>*{opacity:.3}.u-select{pointer-events:none;background:#00000012;position:absolute}.u-cursor-x,.u-cursor-y{pointer-events:none;will-change:transform;position:absolute;top:0;left:0}.u-hz .u-cursor-x,.u-vt .u-cursor-y{border-right:1px dashed #607d8b;height:100%}.u-hz .u-cursor-y,.u-vt .u-cursor-x{border-bottom:1px dashed #607d8b;width:100%}.u-cursor-pt{pointer-events:none;will-change:transform;border:0 solid;border-radius:50%;position:absolute;top:0;left:0;background-clip:padding-box!important}.u-axis.u-off,.u-select.u-off,.u-cursor-x.u-off,.u-cursor-y.u-off,.u-cursor-pt.u-off{display:none}\n:host{--paper:#fff;--ink:#1b1f24;--soft:#57606a;--grid:#e3e6ea;--shade:#0072b2;--alarm:#e69f00;--c0:#0072b2;--c1:#c74a00;--c2:#00805a;--c3:#a3418a;--c4:#8a6100;--c5:#b0122f;--c6:#4b4fc4;--c7:#5f6670;--c8:#00778a;--c9:#7a4a2b;--c10:#6a8f2c;--c11:#b9770e;--c12:#d0547f;--c13:#3d5a80;--c14:#8e6bbf;--c15:#b03a2e;--c16:#2a9d8f;--c17:#84909d;--c18:#a0703a;--c19:#574b90;--c20:#630d31;--c21:#1f12d8;--c22:#e012d8;--c23:#079a00;--c24:#2b3f04;--c25:#ee1210;--c26:#7a10c8;--c27:#c859de;--c28:#f0127a;--c29:#073b4c;--lightningcss-light:initial;--lightningcss-dark: ;color-scheme:light}@media (prefers-color-scheme:dark){:host:not([data-theme=light]){--paper:#14171b;--ink:#e8eaed;--soft:#a5adb7;--grid:#2c323a;--shade:#5db4ec;--alarm:#e69f00;--c0:#5db4ec;--c1:#ff9254;--c2:#3fc79b;--c3:#e694cd;--c4:#e0b040;--c5:#ff7b8a;--c6:#a5a8ff;--c7:#a5adb7;--c8:#45c5d6;--c9:#cfa183;--c10:#a8cf66;--c11:#f0b352;--c12:#f28fb1;--c13:#8fb0dd;--c14:#c3a6ee;--c15:#f0766a;--c16:#6fd6c9;--c17:#b8c2cc;--c18:#d9ac78;--c19:#a99cf0;--c20:#d9a3b4;--c21:#5a78ff;--c22:#ff3ad6;--c23:#32e05a;--c24:#c7f006;--c25:#ff4a3d;--c26:#b05cff;--c27:#e6a6f5;--c28:#ff5fa8;--c29:#4fd0e8;--lightningcss-light: ;--lightningcss-dark:initial;color-scheme:dark}}:host[data-theme=dark]{--paper:#14171b;--ink:#e8eaed;--soft:#a5adb7;--grid:#2c323a;--shade:#5db4ec;--alarm:#e69f00;--c0:#5db4ec;--c1:#ff9254;--c2:#3fc79b;--c3:#e694cd;--c4:#e0b040;--c5:#ff7b8a;--c6:#a5a8ff;--c7:#a5adb7;--c8:#45c5d6;--c9:#cfa183;--c10:#a8cf66;--c11:#f0b352;--c12:#f28fb1;--c13:#8fb0dd;--c14:#c3a6ee;--c15:#f0766a;--c16:#6fd6c9;--c17:#b8c2cc;--c18:#d9ac78;--c19:#a99cf0;--c20:#d9a3b4;--c21:#5a78ff;--c22:#ff3ad6;--c23:#32e05a;--c24:#c7f006;--c25:#ff4a3d;--c26:#b05cff;--c27:#e6a6f5;--c28:#ff5fa8;--c29:#4fd0e8;--lightningcss-light: ;--lightningcss-dark:initial;color-scheme:dark}\n:host{--raised:color-mix(in srgb, var(--paper) 94%, var(--ink));--accent:var(--c0);--radius:8px;font-family:system-ui,-apple-system,Segoe UI,sans-serif;line-height:1.45}*{box-sizing:border-box}[hidden]{display:none!important}body{background:var(--paper);color:var(--ink);margin:0;font-size:15px}h1{text-wrap:balance;margin:0 0 .4rem;font-size:1.5rem;line-height:1.2}h2{margin:1.6rem 0 .3rem;font-size:1.15rem}h3{margin:0 0 .25rem;font-size:1rem}p{margin:0 0 .6rem}a{color:var(--accent)}code{font-family:ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;font-size:.92em}small{font-size:.85em}.quiet-text,small{color:var(--soft)}:focus-visible{outline:2px solid var(--accent);outline-offset:2px}main:focus{outline:none}.only-read{clip-path:inset(50%);width:1px;height:1px;position:absolute;overflow:hidden}.skip{position:absolute;left:-999px}.skip:focus{z-index:20;background:var(--paper);padding:6px 10px;top:8px;left:8px}button,.button,select,input[type=text],input[type=search]{font:inherit;color:var(--ink);background:var(--raised);border:1px solid var(--grid);cursor:pointer;border-radius:6px;min-height:32px;padding:4px 10px;text-decoration:none}.button{display:inline-block}button:hover:not(:disabled),.button:hover{border-color:var(--soft)}button:disabled{opacity:.55;cursor:not-allowed}button[aria-pressed=true],button[aria-selected=true]{border-color:var(--accent);box-shadow:inset 0 -2px 0 var(--accent)}.primary{background:var(--accent);color:var(--paper);border-color:var(--accent)}button.quiet{background:0 0;min-height:26px;padding:2px 8px;font-size:.9em}input[type=text],input[type=search]{cursor:text;background:var(--paper)}input[type=search]{width:100%}input[type=range]{accent-color:var(--accent);cursor:pointer;min-width:0;height:24px}input[type=checkbox]{accent-color:var(--accent)}.swatch{background:var(--colour);vertical-align:-1px;border-radius:3px;width:12px;height:12px;margin-right:5px;display:inline-block}.swatch.dashed{background:repeating-linear-gradient(90deg, var(--colour) 0 4px, transparent 4px 6px);vertical-align:3px;border-radius:0;height:4px}.ring{border:2px solid var(--ink);vertical-align:-1px;border-radius:50%;width:10px;height:10px;margin-right:5px;display:inline-block}.bar{border-bottom:1px solid var(--grid);background:var(--paper);z-index:10;align-items:center;gap:18px;padding:8px 18px;display:flex;position:sticky;top:0}.bar nav{flex:1;gap:14px;display:flex}.bar nav a{color:var(--soft);padding:4px 0;text-decoration:none}.bar nav a[aria-current]{color:var(--ink);box-shadow:0 2px 0 var(--accent)}.brand{color:var(--ink);font-size:1.1rem;font-weight:700;text-decoration:none}.gallery{max-width:1240px;margin:0 auto;padding:22px 18px 60px}.lead{max-width:46rem}.lead p{font-size:1.05rem}.cards{grid-template-columns:repeat(auto-fill,minmax(255px,1fr));gap:14px;margin:.8rem 0 0;padding:0;list-style:none;display:grid}.card a{height:100%;color:inherit;border:1px solid var(--grid);border-radius:var(--radius);background:var(--paper);padding:12px;text-decoration:none;display:block}.card a:hover{border-color:var(--accent)}.card p{-webkit-line-clamp:4;overflow-wrap:anywhere;-webkit-box-orient:vertical;margin:0 0 .3rem;font-size:.9rem;display:-webkit-box;overflow:hidden}.card h2{margin:0 0 .3rem;font-size:1.05rem}.card-plot{margin-bottom:8px}.card-plot small{white-space:nowrap;text-overflow:ellipsis;display:block;overflow:hidden}.card-picture{background:var(--raised);border-radius:4px;width:100%;height:92px;display:block}.card-picture path{fill:none;stroke-width:1.6px;vector-effect:non-scaling-stroke;stroke-linejoin:round}.no-picture{display:none}.lessons{counter-reset:lesson}.stroke-0{stroke:var(--c0)}.stroke-1{stroke:var(--c1)}.stroke-2{stroke:var(--c2)}.stroke-3{stroke:var(--c3)}.stroke-4{stroke:var(--c4)}.stroke-5{stroke:var(--c5)}.workbench{padding:12px 18px 60px}.bench-head{grid-template-columns:1fr auto;align-items:start;gap:4px 16px;display:grid}.bench-title{min-width:0}.bench-title p{max-width:72rem}.bench-tools,.bench-variants,.variants,.modes{flex-wrap:wrap;align-items:center;gap:8px;display:flex}.bench-title{flex-wrap:wrap;align-items:baseline;gap:2px 16px;display:flex}.bench-title p{flex-basis:100%;margin:0}.bench-variants{grid-column:1/-1;gap:8px 18px;margin:6px 0 12px}.bench-status{min-height:34px;color:var(--soft);align-items:center;gap:12px;margin-left:auto;font-size:.9rem;display:flex}.bench-status p{margin:0}progress{width:140px;height:8px;accent-color:var(--accent)}.run-choice{color:var(--soft);align-items:center;gap:6px;max-width:100%;font-size:.9rem;display:inline-flex}.run-choice select{max-width:60vw}.variant{border:1px solid var(--grid);border-radius:6px;max-width:100%;display:inline-flex;overflow:hidden}.variant.chosen{border-color:var(--accent);box-shadow:inset 0 -2px 0 var(--accent)}.variant button{background:0 0;border:none;border-radius:0}.variant-tab{white-space:nowrap;text-overflow:ellipsis;min-width:0;max-width:22rem;overflow:hidden;box-shadow:none!important}.variant-name{color:var(--soft);font-size:.85em}.close{padding:4px 8px}.menu{position:relative}.menu summary{list-style:none}.menu summary::-webkit-details-marker{display:none}.menu-items{background:var(--paper);border:1px solid var(--grid);z-index:9;border-radius:6px;gap:4px;width:max-content;padding:6px;display:grid;position:absolute;top:calc(100% + 4px);right:0;box-shadow:0 6px 20px #0000002e}.menu-items button{text-align:left;background:0 0;border-color:#0000}.panes{grid-template-columns:minmax(300px,370px) minmax(0,1fr);align-items:start;gap:22px;display:grid}.side{border:1px solid var(--grid);border-radius:var(--radius);flex-direction:column;max-height:calc(100vh - 70px);display:flex;position:sticky;top:58px;overflow:hidden}.tablist{border-bottom:1px solid var(--grid);background:var(--raised);display:flex}.tablist button{background:0 0;border:none;border-radius:0;flex:1}.panel{flex:1;min-height:0;overflow:auto}.editor{height:calc(100vh - 130px);min-height:300px}.settings{padding:10px}.chips{flex-wrap:wrap;gap:6px;margin-bottom:8px;display:flex}.chip{border:1px solid var(--grid);overflow-wrap:anywhere;border-radius:14px;align-items:center;max-width:100%;padding:0 2px 0 9px;font-size:.85rem;display:inline-flex}.chip button{background:0 0;border:none;min-height:24px;padding:0 7px}fieldset{border:none;min-width:0;margin:12px 0 0;padding:0}legend{padding:0;font-size:.92rem;font-weight:600}.control{grid-template-columns:7.4rem minmax(0,1fr) 5.6rem;align-items:center;gap:8px;min-height:34px;font-size:.88rem;display:grid}.control select{grid-column:2/-1;min-width:0;min-height:28px;padding:2px 6px}.control-label{text-overflow:ellipsis;white-space:nowrap;color:var(--soft);overflow:hidden}.control .number{font-variant-numeric:tabular-nums;min-width:0;min-height:28px;padding:2px 6px}.more summary{cursor:pointer;color:var(--soft);padding:4px 0;font-size:.85rem}.results{min-width:0}.problem{border:1px solid var(--c5);overflow-wrap:anywhere;white-space:pre-line;border-left-width:5px;border-radius:6px;margin-bottom:12px;padding:8px 12px}.stale .stack,.stale .summary{opacity:.45}.scroll{overflow-x:auto}table{border-collapse:collapse;font-variant-numeric:tabular-nums;font-size:.88rem}th,td{text-align:left;border-bottom:1px solid var(--grid);vertical-align:top;white-space:nowrap;padding:3px 14px 3px 0}thead th{color:var(--soft);font-weight:500}tbody th{font-weight:500}.change{margin-left:6px;display:inline-block}.better{color:var(--c2)}.worse{color:var(--c5)}.flow-choice{flex-wrap:wrap;gap:4px 14px;max-height:5.5rem;margin:8px 0 0;font-size:.88rem;display:flex;overflow:auto}.zoom{flex-wrap:wrap;align-items:center;gap:4px;margin:10px 0 2px;display:flex}.zoom button{min-width:34px;min-height:28px;padding:2px 8px}.hint{margin-left:6px;font-size:.82rem}.stack{grid-template-columns:minmax(0,1fr);gap:18px;display:grid}.stack[data-columns=\"2\"],.stack[data-columns=\"4\"]{grid-template-columns:repeat(2,minmax(0,1fr))}.stack[data-columns=\"3\"]{grid-template-columns:repeat(3,minmax(0,1fr))}.column{min-width:0}.column-heading p{overflow-wrap:anywhere;margin:6px 0 0;font-size:.9rem}.plot{margin:6px 0 0}.plot figcaption{flex-wrap:wrap;align-items:baseline;gap:0 14px;min-height:1.5em;font-size:.85rem;display:flex}.plot-title{font-weight:600}.legend{color:var(--soft);flex-wrap:wrap;gap:0 12px;display:inline-flex}.entry{white-space:nowrap}.entry.now{color:var(--ink);font-weight:600}.entry .value{color:var(--ink);font-variant-numeric:tabular-nums;display:inline-block}.entry .value:not(:empty){min-width:5.5em}.plot-host{touch-action:pan-y;border-radius:4px;min-height:60px}.plot-host:focus-visible{outline-offset:0}.u-select{background:color-mix(in srgb, var(--shade) 18%, transparent)}.u-hz .u-cursor-x,.u-vt .u-cursor-y{border-color:var(--soft)}.band{margin:2px 0 4px;font-size:.8rem}.band canvas{display:block}.band-words{flex-wrap:wrap;display:flex}.band-words b{color:var(--ink);font-weight:600}.findings{gap:2px;margin:4px 0;display:grid}.finding-row{height:22px;position:relative}.finding-bar{text-align:left;white-space:nowrap;text-overflow:ellipsis;border:none;border-left:3px solid var(--alarm);background:color-mix(in srgb, var(--alarm) 26%, var(--paper));border-radius:2px;height:20px;min-height:20px;padding:0 6px;font-size:11.5px;line-height:18px;position:absolute;overflow:hidden}.why ul,.why ol{margin:0 0 .6rem;padding-left:1.2rem}.finding{margin-bottom:8px}.finding summary{cursor:pointer}.remedies{list-style:none;padding-left:0!important}.remedies li{margin:4px 0}.remedy{border-color:var(--c2);min-height:28px;margin-right:4px;padding:1px 12px}.published td:first-child,.published .place{white-space:normal;min-width:13rem}.published .place{color:var(--soft);font-size:.85em}.verdict.agrees,.verdict.holds,.verdict.checked{color:var(--c2)}.verdict.differs{color:var(--c5)}.lesson{max-width:60rem;margin:0 auto;padding:22px 18px 60px;font-size:1rem}.lesson>p,.lesson>ul,.lesson>ol,.lesson>section{max-width:44rem}.lesson .about{color:var(--soft);font-size:1.08rem}.lesson-figure{border:1px solid var(--grid);border-radius:var(--radius);min-height:460px;margin:20px 0;padding:12px}.lesson-figure figcaption{margin-top:6px;font-size:.88rem}.lesson-controls{flex-wrap:wrap;align-items:center;gap:8px 18px;font-size:.9rem;display:flex}.lesson-controls label{align-items:center;gap:6px;display:inline-flex}.lesson-controls output{font-variant-numeric:tabular-nums;min-width:5.5em}.question{border-left:3px solid var(--accent);background:var(--raised);border-radius:0 6px 6px 0;margin:18px 0;padding:4px 14px}.question summary{cursor:pointer;color:var(--accent);padding:4px 0}.lesson td,.lesson th{white-space:normal}.pager{justify-content:space-between;gap:18px;margin-top:28px;display:flex}.print-only{display:none}pre{background:var(--raised);border-radius:6px;padding:10px;overflow-x:auto}@media (max-width:900px){.panes{grid-template-columns:minmax(0,1fr)}.side{z-index:8;background:var(--paper);border-radius:var(--radius) var(--radius) 0 0;max-height:46vh;position:fixed;inset:auto 0 0;box-shadow:0 -4px 18px #00000038}.side:not(.open) .panel{display:none}.editor{height:38vh;min-height:200px}.workbench{padding-bottom:46vh}.stack[data-columns]{grid-template-columns:minmax(0,1fr)}}@media (max-width:480px){.bar{gap:12px;padding:6px 12px}.bar nav{gap:10px;font-size:.92rem}.workbench,.gallery,.lesson{padding-left:12px;padding-right:12px}.bench-head{grid-template-columns:minmax(0,1fr)}.bench-title h1{font-size:1.2rem}.menu-items{left:0;right:auto}.hint{display:none}.control{grid-template-columns:6.2rem minmax(0,1fr) 5.2rem}.variant-tab{max-width:70vw}}@media (prefers-reduced-motion:reduce){*{scroll-behavior:auto!important;transition:none!important;animation:none!important}}@media (forced-colors:active){.swatch,.finding-bar{forced-color-adjust:none}}@media print{.bar,.no-print,.skip{display:none!important}.print-only{display:block}.lesson{max-width:none;padding:0}.lesson-figure,.question,.plot{break-inside:avoid}details:not([open])>:not(summary){display:none}a{color:inherit;text-decoration:none}}.served{border-collapse:collapse;width:100%;font-size:.9rem}.served th{text-align:left;color:var(--soft);font-weight:600}.served th,.served td{border-bottom:1px solid var(--grid);overflow-wrap:anywhere;padding:4px 10px 4px 0}.served .number{text-align:right;white-space:nowrap;font-variant-numeric:tabular-nums}.served .run-name{text-align:left;color:var(--accent);border:0;padding-left:0}.served-tools{margin:10px 0}.going-on article{border:1px solid var(--grid);border-radius:var(--radius);margin:0 0 10px;padding:8px 12px}.going-on h2{overflow-wrap:anywhere;margin:0;font-size:1rem}.going-on p{margin:0 0 4px}.going-on ul{font-variant-numeric:tabular-nums;margin:4px 0 0;padding-left:1.1rem}"), e;
};
function Ea({ model: e, el: t }) {
	let n = I("div"), r = n.attachShadow({ mode: "open" });
	r.adoptedStyleSheets = [Ta()];
	let i = new ya(), a = new va(i, {
		height: 130,
		onfinding: () => void 0
	}), o = I("p", {
		class: "problem",
		hidden: !0
	});
	r.append(o, a.element), t.append(n);
	let s = () => {
		try {
			let { buffer: t, byteOffset: n, byteLength: r } = e.get("run"), s = Sa(t.slice(n, n + r), 0), c = e.get("flows"), l = c.length ? c : d(s).slice(0, 8);
			i.setWhole([0, b(s)]);
			let u = T({
				name: "",
				number: 0,
				run: s
			}, { flows: l });
			a.show([{
				heading: null,
				figures: u,
				findings: s.explanation.findings
			}]), o.hidden = !0;
		} catch (e) {
			o.hidden = !1, o.textContent = e instanceof Error ? e.message : String(e);
		}
	}, c = () => n.dataset.theme = N();
	c();
	let l = P(c), u = ["change:run", "change:flows"];
	for (let t of u) e.on(t, s);
	return s(), () => {
		for (let t of u) e.off(t, s);
		l(), a.destroy();
	};
}
var Da = { render: Ea };
export { Da as default };
