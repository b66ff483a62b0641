// SPDX-License-Identifier: Apache-2.0
// Runs ONNX graphs in plain JavaScript, with the calls of onnxruntime-web that index.html makes: for a page in one
// file, without WebAssembly. It has the operators of relevance graphs of convolutional networks and names any other.
// Numbers are float32; int64 is held in float64, exact below 2^53.
"use strict";
globalThis.ort = (() => {
  const text = new TextDecoder();
  const TYPES = { 1: "float32", 6: "int32", 7: "int64", 9: "bool", 10: "float16", 11: "float64" };
  const HOLDERS = { float32: Float32Array, float64: Float64Array, int32: Int32Array, int64: Float64Array,
                    bool: Uint8Array };
  const sizeOf = dims => dims.reduce((all, one) => all * one, 1);

  class Tensor {
    constructor(type, data, dims) {
      if (!HOLDERS[type]) { throw new Error("tensors of " + type + " are not implemented here"); }
      const isBig = data instanceof BigInt64Array;
      Object.assign(this, { type, dims: Array.from(dims), data: isBig ? Float64Array.from(data, Number) : data });
    }
  }
  const empty = (type, dims) => new Tensor(type, new HOLDERS[type](sizeOf(dims)), dims);
  const ints = values => new Tensor("int64", Float64Array.from(values), [values.length]);

  // ---- the file: protocol buffers ----

  function varint(bytes, at) {
    let value = 0n, shift = 0n, byte;
    do {
      byte = bytes[at.i++];
      value |= BigInt(byte & 127) << shift;
      shift += 7n;
    } while (byte & 128);
    return Number(BigInt.asIntN(64, value));
  }

  /** Values of a message by the number of their field. */
  function message(bytes) {
    const found = {}, at = { i: 0 };
    while (at.i < bytes.length) {
      const key = varint(bytes, at), kind = key & 7;
      let value;
      if (kind === 0) {
        value = varint(bytes, at);
      } else {
        const length = kind === 2 ? varint(bytes, at) : kind === 1 ? 8 : 4;
        value = bytes.subarray(at.i, at.i += length);
        if (value.length < length) { throw new Error("this is no whole ONNX file"); }
      }
      (found[key >>> 3] ??= []).push(value);
    }
    return found;
  }
  const words = list => (list ?? []).map(one => text.decode(one));
  const copied = (Kind, bytes) => new Kind(bytes.slice().buffer);

  /** Numbers of a repeated field, packed or one by one. */
  function numbers(list, Kind) {
    return (list ?? []).flatMap(one => {
      if (typeof one === "number") { return [one]; }
      if (Kind) { return Array.from(copied(Kind, one)); }
      const packed = [], at = { i: 0 };
      while (at.i < one.length) { packed.push(varint(one, at)); }
      return packed;
    });
  }

  function tensorOf(bytes) {
    const said = message(bytes), type = TYPES[said[2]?.[0]];
    const dims = numbers(said[1]);
    if (!HOLDERS[type]) { throw new Error("a constant of type " + said[2]?.[0] + " is not implemented here"); }
    if (!said[9]) {
      const fields = { float32: [4, Float32Array], float64: [10, Float64Array], int64: [7], int32: [5], bool: [5] };
      const listed = fields[type];
      return new Tensor(type, HOLDERS[type].from(numbers(said[listed[0]], listed[1])), dims);
    }
    const raw = type === "int64" ? copied(BigInt64Array, said[9][0]) : copied(HOLDERS[type], said[9][0]);
    return new Tensor(type, raw, dims);
  }

  function attributesOf(list) {
    const found = {};
    for (const bytes of list ?? []) {
      const said = message(bytes), name = text.decode(said[1][0]);
      const kind = said[20]?.[0];
      found[name] = kind === 1 ? copied(Float32Array, said[2][0])[0] : kind === 2 ? said[3][0]
          : kind === 3 ? text.decode(said[4][0]) : kind === 4 ? tensorOf(said[5][0])
          : kind === 6 ? numbers(said[7], Float32Array) : kind === 7 ? numbers(said[8]) : undefined;
    }
    return found;
  }

  function declaredOf(bytes) {
    const said = message(bytes), tensor = message(message(said[2][0])[1][0]);
    const axes = tensor[2] ? message(tensor[2][0])[1] ?? [] : [];
    const shape = axes.map(one => { const axis = message(one); return axis[1]?.[0] ?? words(axis[2])[0] ?? "?"; });
    return { name: text.decode(said[1][0]), type: TYPES[tensor[1]?.[0]], shape };
  }

  // ---- operators ----

  const stridesOf = dims => dims.map((_, i) => sizeOf(dims.slice(i + 1)));

  function broadcast(shapes) {
    const rank = Math.max(...shapes.map(one => one.length));
    return Array.from({ length: rank }, (_, i) => {
      const extents = shapes.map(one => one[i - rank + one.length] ?? 1).filter(one => one !== 1);
      if (new Set(extents).size > 1) {
        throw new Error("shapes " + shapes.map(one => one.join(" × ")).join(" and ") + " do not fit");
      }
      return extents[0] ?? 1;
    });
  }

  /** Calls f(place in the result, place in each operand) for every element; operands are repeated along axes of 1. */
  function walk(dims, shapes, f) {
    const steps = shapes.map(shape => {
      const own = stridesOf(shape), missing = dims.length - shape.length;
      return dims.map((_, i) => i < missing || shape[i - missing] === 1 ? 0 : own[i - missing]);
    });
    const total = sizeOf(dims), places = shapes.map(() => 0), index = dims.map(() => 0);
    for (let at = 0; at < total; ++at) {
      f(at, places);
      for (let axis = dims.length - 1; axis >= 0; --axis) {
        steps.forEach((one, k) => { places[k] += one[axis]; });
        if (++index[axis] < dims[axis]) { break; }
        steps.forEach((one, k) => { places[k] -= one[axis] * dims[axis]; });
        index[axis] = 0;
      }
    }
  }

  const elementwise = (f, type) => (_, ...operands) => {
    const dims = broadcast(operands.map(one => one.dims));
    const made = empty(type ?? operands[operands.length - 1].type, dims);
    const [a, b, c] = operands.map(one => one.data);
    if (operands.every(one => one.data.length === made.data.length)) {
      for (let i = 0; i < made.data.length; ++i) { made.data[i] = f(a[i], b?.[i], c?.[i]); }
    } else {
      walk(dims, operands.map(one => one.dims), (at, place) => {
        made.data[at] = f(a[place[0]], b?.[place[1]], c?.[place[2]]);
      });
    }
    return [made];
  };
  const folded = f => (attributes, first, ...others) =>
      [others.reduce((made, one) => elementwise(f)(attributes, made, one)[0], first)];

  const axesOf = (list, rank) => list.map(one => one < 0 ? one + rank : one);

  const reduced = (begin, add, end = value => value) => (attributes, x, axes) => {
    const rank = x.dims.length, given = axes ? Array.from(axes.data) : attributes.axes;
    if (!given?.length && attributes.noop_with_empty_axes) { return [x]; }
    const over = new Set(axesOf(given?.length ? given : x.dims.map((_, i) => i), rank));
    const kept = x.dims.map((one, i) => over.has(i) ? 1 : one), made = empty("float64", kept).data.fill(begin);
    walk(x.dims, [kept], (at, [place]) => { made[place] = add(made[place], x.data[at]); });
    const count = x.data.length / made.length;
    const dims = attributes.keepdims === 0 ? kept.filter((_, i) => !over.has(i)) : kept;
    return [new Tensor(x.type, HOLDERS[x.type].from(made, one => end(one, count)), dims)];
  };

  function windows(attributes, dims, kernel) {
    const rank = kernel.length, spatial = dims.slice(2);
    const strides = attributes.strides ?? kernel.map(() => 1), dilations = attributes.dilations ?? kernel.map(() => 1);
    if (attributes.auto_pad && attributes.auto_pad !== "NOTSET" && attributes.auto_pad !== "VALID") {
      throw new Error("auto_pad is not implemented here");
    }
    if (rank !== 2) { throw new Error("windows over " + rank + " axes are not implemented here"); }
    const pads = attributes.pads ?? Array(2 * rank).fill(0);
    const up = attributes.ceil_mode ? Math.ceil : Math.floor;
    const out = spatial.map((one, i) =>
        up((one + pads[i] + pads[i + rank] - dilations[i] * (kernel[i] - 1) - 1) / strides[i]) + 1);
    return { strides, dilations, pads, out };
  }

  /** For each tap of a kernel the rows and the columns of the result whose place in the input exists. */
  function inside(extent, out, stride, offset) {
    return [Math.max(0, Math.ceil(-offset / stride)), Math.min(out, Math.floor((extent - 1 - offset) / stride) + 1)];
  }

  /** y += w ∗ x, or x += wᵀ ∗ y: the two directions of one convolution. */
  function convolve(x, y, w, xDims, yDims, wDims, groups, { strides, dilations, pads }, isBack) {
    const [count, inputs, height, width] = xDims, [, outputs, rows, columns] = yDims, [, own, kh, kw] = wDims;
    const perGroup = outputs / groups;
    for (let n = 0; n < count; ++n) {
      for (let o = 0; o < outputs; ++o) {
        const first = Math.floor(o / perGroup) * own, below = (n * outputs + o) * rows * columns;
        for (let c = 0; c < own; ++c) {
          const above = (n * inputs + first + c) * height * width;
          for (let tap = 0; tap < kh * kw; ++tap) {
            const weight = w[(o * own + c) * kh * kw + tap];
            if (weight === 0) { continue; }
            const dy = Math.floor(tap / kw) * dilations[0] - pads[0], dx = tap % kw * dilations[1] - pads[1];
            const [low, high] = inside(height, rows, strides[0], dy);
            const [left, right] = inside(width, columns, strides[1], dx);
            for (let row = low; row < high; ++row) {
              let to = below + row * columns + left;
              let from = above + (row * strides[0] + dy) * width + left * strides[1] + dx;
              for (let column = left; column < right; ++column, ++to, from += strides[1]) {
                if (isBack) { x[from] += weight * y[to]; } else { y[to] += weight * x[from]; }
              }
            }
          }
        }
      }
    }
  }

  function addBias(made, bias) {
    const [, channels, ...spatial] = made.dims, plane = sizeOf(spatial);
    if (bias) { made.data.forEach((one, i) => { made.data[i] = one + bias.data[Math.floor(i / plane) % channels]; }); }
    return [made];
  }

  function conv(attributes, x, w, bias) {
    const how = windows(attributes, x.dims, w.dims.slice(2));
    const made = empty(x.type, [x.dims[0], w.dims[0], ...how.out]);
    convolve(x.data, made.data, w.data, x.dims, made.dims, w.dims, attributes.group ?? 1, how, false);
    return addBias(made, bias);
  }

  function convTranspose(attributes, y, w, bias) {
    const kernel = w.dims.slice(2), groups = attributes.group ?? 1, more = attributes.output_padding ?? [0, 0];
    const { strides, dilations, pads } = windows(attributes, y.dims, kernel);
    if (attributes.output_shape) { throw new Error("output_shape is not implemented here"); }
    const extent = i => strides[i] * (y.dims[i + 2] - 1) + more[i] + dilations[i] * (kernel[i] - 1) + 1 - pads[i] -
                        pads[i + 2];
    const made = empty(y.type, [y.dims[0], w.dims[1] * groups, extent(0), extent(1)]);
    convolve(made.data, y.data, w.data, made.dims, y.dims, w.dims, groups, { strides, dilations, pads }, true);
    return addBias(made, bias);
  }

  /** Calls begin(place in the result), then add(place in the input) for each element of its window. */
  function pooled({ strides, dilations, pads, out }, kernel, dims, begin, add) {
    const [count, channels, height, width] = dims, many = count * channels * out[0] * out[1];
    for (let at = 0; at < many; ++at) {
      const column = at % out[1], row = Math.floor(at / out[1]) % out[0];
      const base = Math.floor(at / (out[0] * out[1])) * height * width;
      begin(at);
      for (let tap = 0; tap < kernel[0] * kernel[1]; ++tap) {
        const y = row * strides[0] - pads[0] + Math.floor(tap / kernel[1]) * dilations[0];
        const z = column * strides[1] - pads[1] + tap % kernel[1] * dilations[1];
        if (y >= 0 && z >= 0 && y < height && z < width) { add(at, base + y * width + z); }
      }
    }
  }

  function maxPool(attributes, x) {
    const kernel = attributes.kernel_shape, how = windows(attributes, x.dims, kernel);
    const made = empty(x.type, [x.dims[0], x.dims[1], ...how.out]), from = empty("int64", made.dims);
    pooled(how, kernel, x.dims, at => { made.data[at] = -Infinity; from.data[at] = -1; }, (at, place) => {
      if (x.data[place] > made.data[at] || from.data[at] < 0) { made.data[at] = x.data[place]; from.data[at] = place; }
    });
    return [made, from];
  }

  function averagePool(attributes, x) {
    const kernel = attributes.kernel_shape, how = windows(attributes, x.dims, kernel);
    const made = empty(x.type, [x.dims[0], x.dims[1], ...how.out]), counts = new Float32Array(made.data.length);
    if (attributes.ceil_mode && attributes.count_include_pad) { throw new Error("ceil_mode is not implemented here"); }
    pooled(how, kernel, x.dims, () => {}, (at, place) => { made.data[at] += x.data[place]; ++counts[at]; });
    made.data.forEach((one, i) => {
      made.data[i] = one / (attributes.count_include_pad ? sizeOf(kernel) : counts[i]);
    });
    return [made];
  }

  function matMul(_, a, b) {
    const [rows, inner] = a.dims.slice(-2), columns = b.dims[b.dims.length - 1];
    if (a.dims.length < 2 || b.dims.length < 2) { throw new Error("a product with a vector is not implemented here"); }
    const stacks = [a.dims.slice(0, -2), b.dims.slice(0, -2)], stack = broadcast(stacks);
    const made = empty(a.type, [...stack, rows, columns]);
    walk(stack, stacks, (at, [left, right]) => {
      for (let i = 0; i < rows; ++i) {
        for (let k = 0; k < inner; ++k) {
          const factor = a.data[(left * rows + i) * inner + k];
          for (let j = 0; j < columns; ++j) {
            made.data[(at * rows + i) * columns + j] += factor * b.data[(right * inner + k) * columns + j];
          }
        }
      }
    });
    return [made];
  }

  function transpose(attributes, x) {
    const order = attributes.perm ?? x.dims.map((_, i) => x.dims.length - 1 - i), own = stridesOf(x.dims);
    const made = empty(x.type, order.map(axis => x.dims[axis])), index = stridesOf(made.dims);
    made.data.forEach((_, at) => {
      made.data[at] = x.data[order.reduce((sum, axis, i) =>
          sum + Math.floor(at / index[i]) % made.dims[i] * own[axis], 0)];
    });
    return [made];
  }

  function gemm(attributes, a, b, c) {
    const [left] = attributes.transA ? transpose({}, a) : [a], [right] = attributes.transB ? transpose({}, b) : [b];
    const made = matMul({}, left, right)[0], alpha = attributes.alpha ?? 1, beta = attributes.beta ?? 1;
    if (alpha !== 1) { made.data.forEach((one, i) => { made.data[i] = alpha * one; }); }
    return c ? elementwise((x, y) => x + beta * y)({}, made, c) : [made];
  }

  function reshape(attributes, x, shape) {
    const dims = Array.from(shape.data, (one, i) => one === 0 && !attributes.allowzero ? x.dims[i] : one);
    const free = dims.indexOf(-1);
    if (free >= 0) { dims[free] = x.data.length / -sizeOf(dims); }
    return [new Tensor(x.type, x.data, dims)];
  }

  function flatten(attributes, x) {
    const axis = axesOf([attributes.axis ?? 1], x.dims.length)[0];
    return [new Tensor(x.type, x.data, [sizeOf(x.dims.slice(0, axis)), sizeOf(x.dims.slice(axis))])];
  }

  const unsqueeze = (_, x, axes) => {
    const rank = x.dims.length + axes.data.length, own = [...x.dims];
    const added = new Set(axesOf(Array.from(axes.data), rank));
    return [new Tensor(x.type, x.data, Array.from({ length: rank }, (_, i) => added.has(i) ? 1 : own.shift()))];
  };
  const squeeze = (_, x, axes) => {
    const gone = axes && new Set(axesOf(Array.from(axes.data), x.dims.length));
    return [new Tensor(x.type, x.data, x.dims.filter((one, i) => gone ? !gone.has(i) : one !== 1))];
  };
  const expand = (_, x, shape) => {
    const dims = broadcast([x.dims, Array.from(shape.data)]), made = empty(x.type, dims);
    walk(dims, [x.dims], (at, [place]) => { made.data[at] = x.data[place]; });
    return [made];
  };

  function concat(attributes, ...parts) {
    const axis = axesOf([attributes.axis], parts[0].dims.length)[0], dims = [...parts[0].dims];
    dims[axis] = parts.reduce((sum, one) => sum + one.dims[axis], 0);
    const made = empty(parts[0].type, dims), outer = sizeOf(dims.slice(0, axis));
    let to = 0;
    for (let i = 0; i < outer; ++i) {
      for (const part of parts) {
        const length = part.data.length / outer;
        made.data.set(part.data.subarray(i * length, (i + 1) * length), to);
        to += length;
      }
    }
    return [made];
  }

  function gather(attributes, x, index) {
    const axis = axesOf([attributes.axis ?? 0], x.dims.length)[0], extent = x.dims[axis];
    const made = empty(x.type, [...x.dims.slice(0, axis), ...index.dims, ...x.dims.slice(axis + 1)]);
    const inner = sizeOf(x.dims.slice(axis + 1)), many = index.data.length;
    made.data.forEach((_, at) => {
      const chosen = index.data[Math.floor(at / inner) % many], outer = Math.floor(at / (inner * many));
      made.data[at] = x.data[(outer * extent + (chosen < 0 ? chosen + extent : chosen)) * inner + at % inner];
    });
    return [made];
  }

  /** Calls f(place in the tensor, place in the index) along an axis. */
  function along(attributes, dims, index, f) {
    const axis = axesOf([attributes.axis ?? 0], dims.length)[0], own = stridesOf(dims), steps = stridesOf(index.dims);
    index.data.forEach((chosen, at) => {
      const fixed = own.reduce((sum, step, i) =>
          i === axis ? sum : sum + Math.floor(at / steps[i]) % index.dims[i] * step, 0);
      f(fixed + (chosen < 0 ? chosen + dims[axis] : chosen) * own[axis], at);
    });
  }
  const gatherElements = (attributes, x, index) => {
    const made = empty(x.type, index.dims);
    along(attributes, x.dims, index, (place, at) => { made.data[at] = x.data[place]; });
    return [made];
  };
  const scatterElements = (attributes, x, index, updates) => {
    const made = new Tensor(x.type, x.data.slice(), x.dims), adds = attributes.reduction === "add";
    along(attributes, x.dims, index, (place, at) => {
      made.data[place] = updates.data[at] + (adds ? made.data[place] : 0);
    });
    return [made];
  };

  function slice(_, x, starts, ends, axes, steps) {
    const chosen = axes ? axesOf(Array.from(axes.data), x.dims.length) : Array.from(starts.data, (_, i) => i);
    const begin = x.dims.map(() => 0), step = x.dims.map(() => 1), dims = [...x.dims];
    chosen.forEach((axis, i) => {
      const by = steps ? steps.data[i] : 1, extent = x.dims[axis], from = one => one < 0 ? one + extent : one;
      const limit = (one, low, high) => Math.min(Math.max(from(one), low), high);
      begin[axis] = by > 0 ? limit(starts.data[i], 0, extent) : limit(starts.data[i], 0, extent - 1);
      const end = by > 0 ? limit(ends.data[i], 0, extent) : Math.min(Math.max(from(ends.data[i]), -1), extent - 1);
      step[axis] = by;
      dims[axis] = Math.max(0, Math.ceil((end - begin[axis]) / by));
    });
    const made = empty(x.type, dims), own = stridesOf(x.dims), index = stridesOf(dims);
    made.data.forEach((_, at) => {
      made.data[at] = x.data[dims.reduce((sum, extent, i) =>
          sum + (begin[i] + Math.floor(at / index[i]) % extent * step[i]) * own[i], 0)];
    });
    return [made];
  }

  function pad(attributes, x, pads, value) {
    if ((attributes.mode ?? "constant") !== "constant") { throw new Error("this mode is not implemented here"); }
    const rank = x.dims.length, before = Array.from(pads.data.subarray(0, rank));
    const dims = x.dims.map((one, i) => one + before[i] + pads.data[i + rank]);
    const made = empty(x.type, dims), own = stridesOf(x.dims), index = stridesOf(dims);
    made.data.forEach((_, at) => {
      const places = dims.map((extent, i) => Math.floor(at / index[i]) % extent - before[i]);
      const isInside = places.every((one, i) => one >= 0 && one < x.dims[i]);
      const place = places.reduce((sum, one, i) => sum + one * own[i], 0);
      made.data[at] = isInside ? x.data[place] : value ? value.data[0] : 0;
    });
    return [made];
  }

  function argMax(attributes, x) {
    const axis = axesOf([attributes.axis ?? 0], x.dims.length)[0], extent = x.dims[axis];
    const kept = x.dims.map((one, i) => i === axis ? 1 : one), inner = sizeOf(x.dims.slice(axis + 1));
    const made = empty("int64", attributes.keepdims === 0 ? x.dims.filter((_, i) => i !== axis) : kept);
    made.data.forEach((_, at) => {
      const base = Math.floor(at / inner) * extent * inner + at % inner;
      let best = 0;
      for (let i = 1; i < extent; ++i) { best = x.data[base + i * inner] > x.data[base + best * inner] ? i : best; }
      made.data[at] = best;
    });
    return [made];
  }

  function oneHot(attributes, index, depth, values) {
    const many = Number(depth.data[0]), rank = index.dims.length + 1, axis = axesOf([attributes.axis ?? -1], rank)[0];
    const dims = [...index.dims.slice(0, axis), many, ...index.dims.slice(axis)], made = empty(values.type, dims);
    const inner = sizeOf(dims.slice(axis + 1));
    made.data.forEach((_, at) => {
      const chosen = index.data[Math.floor(at / (inner * many)) * inner + at % inner];
      made.data[at] = values.data[Math.floor(at / inner) % many === (chosen < 0 ? chosen + many : chosen) ? 1 : 0];
    });
    return [made];
  }

  const cast = (attributes, x) => {
    const type = TYPES[attributes.to], isWhole = type === "int64" || type === "int32";
    const made = empty(type, x.dims);
    x.data.forEach((one, i) => { made.data[i] = type === "bool" ? one !== 0 : isWhole ? Math.trunc(one) : one; });
    return [made];
  };
  const shapeOf = (attributes, x) => [ints(x.dims.slice(attributes.start ?? 0, attributes.end ?? x.dims.length))];
  const filled = (attributes, shape) => {
    const value = attributes.value ?? new Tensor("float32", new Float32Array(1), [1]);
    const made = empty(value.type, Array.from(shape.data));
    made.data.fill(value.data[0]);
    return [made];
  };
  const range = (_, start, limit, step) => {
    const many = Math.max(0, Math.ceil((limit.data[0] - start.data[0]) / step.data[0]));
    const made = empty(start.type, [many]);
    made.data.forEach((_, i) => { made.data[i] = start.data[0] + i * step.data[0]; });
    return [made];
  };
  const constant = attributes => [attributes.value ?? (attributes.value_ints ? ints(attributes.value_ints)
      : "value_int" in attributes ? new Tensor("int64", Float64Array.of(attributes.value_int), [])
      : new Tensor("float32", Float32Array.of(attributes.value_float), []))];

  const kOperators = {
    Abs: elementwise(Math.abs), Add: elementwise((a, b) => a + b), And: elementwise((a, b) => a & b, "bool"),
    ArgMax: argMax, AveragePool: averagePool, Cast: cast, Ceil: elementwise(Math.ceil),
    Clip: (_, x, low, high) => elementwise(a =>
        Math.min(Math.max(a, low ? low.data[0] : -Infinity), high ? high.data[0] : Infinity))({}, x),
    Concat: concat, Constant: constant, ConstantOfShape: filled, Conv: conv, ConvTranspose: convTranspose,
    Div: (_, a, b) => elementwise(a.type === "int64" ? (x, y) => Math.trunc(x / y) : (x, y) => x / y)({}, a, b),
    Equal: elementwise((a, b) => a === b, "bool"), Exp: elementwise(Math.exp), Expand: expand, Flatten: flatten,
    Floor: elementwise(Math.floor), Gather: gather, GatherElements: gatherElements, Gemm: gemm,
    GlobalAveragePool: (_, x) => reduced(0, (sum, one) => sum + one, (sum, count) => sum / count)(
        { axes: x.dims.map((_, i) => i).slice(2) }, x),
    Greater: elementwise((a, b) => a > b, "bool"), GreaterOrEqual: elementwise((a, b) => a >= b, "bool"),
    Identity: (_, x) => [x], IsNaN: elementwise(Number.isNaN, "bool"), Less: elementwise((a, b) => a < b, "bool"),
    LessOrEqual: elementwise((a, b) => a <= b, "bool"), Log: elementwise(Math.log), MatMul: matMul,
    Max: folded((a, b) => Math.max(a, b)), MaxPool: maxPool, Min: folded((a, b) => Math.min(a, b)),
    Mod: elementwise((a, b) => a - b * Math.floor(a / b)),
    Mul: elementwise((a, b) => a * b), Neg: elementwise(a => -a), Not: elementwise(a => !a, "bool"), OneHot: oneHot,
    Or: elementwise((a, b) => a | b, "bool"), Pad: pad, Pow: elementwise(Math.pow), Range: range,
    Reciprocal: elementwise(a => 1 / a), ReduceMax: reduced(-Infinity, Math.max),
    ReduceMean: reduced(0, (sum, one) => sum + one, (sum, count) => sum / count),
    ReduceMin: reduced(Infinity, Math.min), ReduceProd: reduced(1, (all, one) => all * one),
    ReduceSum: reduced(0, (sum, one) => sum + one), Relu: elementwise(a => a > 0 || Number.isNaN(a) ? a : 0),
    Reshape: reshape, ScatterElements: scatterElements, Shape: shapeOf,
    Sigmoid: elementwise(a => 1 / (1 + Math.exp(-a))), Sign: elementwise(Math.sign),
    Size: (_, x) => [new Tensor("int64", Float64Array.of(x.data.length), [])], Slice: slice,
    Sqrt: elementwise(Math.sqrt), Squeeze: squeeze, Sub: elementwise((a, b) => a - b), Sum: folded((a, b) => a + b),
    Tanh: elementwise(Math.tanh), Transpose: transpose, Unsqueeze: unsqueeze,
    Where: elementwise((choice, a, b) => choice ? a : b),
  };

  // ---- a session ----

  class InferenceSession {
    /** Reads a graph: an address, or the bytes of a file. */
    static async create(file) {
      const model = message(typeof file === "string" ? new Uint8Array(await (await fetch(file)).arrayBuffer()) : file);
      const graph = message(model[7][0]), session = new InferenceSession();
      session.constants = new Map((graph[5] ?? []).map(one => [text.decode(message(one)[8][0]), tensorOf(one)]));
      session.nodes = (graph[1] ?? []).map(bytes => {
        const said = message(bytes), operator = text.decode(said[4][0]);
        if (words(said[7])[0] || !kOperators[operator]) { throw new Error("no operator " + operator + " here"); }
        return { operator, inputs: words(said[1]), outputs: words(said[2]), name: words(said[3])[0] ?? "",
                 attributes: attributesOf(said[5]) };
      });
      session.inputMetadata = graph[11].map(declaredOf).filter(one => !session.constants.has(one.name));
      session.inputNames = session.inputMetadata.map(one => one.name);
      session.outputNames = graph[12].map(one => declaredOf(one).name);
      session.metadata = Object.fromEntries((model[14] ?? []).map(one => {
        const said = message(one);
        return [text.decode(said[1][0]), text.decode(said[2]?.[0] ?? new Uint8Array())];
      }));
      return session;
    }

    /** The outputs for these inputs, by name; what nothing reads any more is let go. */
    async run(feed) {
      const values = new Map([...this.constants, ...Object.entries(feed)]), readers = new Map();
      for (const node of this.nodes) {
        node.inputs.forEach(name => readers.set(name, (readers.get(name) ?? 0) + 1));
      }
      this.outputNames.forEach(name => readers.set(name, Infinity));
      for (const node of this.nodes) {
        let made;
        try {
          made = kOperators[node.operator](node.attributes, ...node.inputs.map(name => values.get(name)));
        } catch (error) {
          throw new Error(node.operator + " '" + node.name + "': " + error.message);
        }
        node.outputs.forEach((name, i) => values.set(name, made[i]));
        for (const name of node.inputs) {
          readers.set(name, readers.get(name) - 1);
          if (readers.get(name) === 0 && !this.constants.has(name)) { values.delete(name); }
        }
      }
      return Object.fromEntries(this.outputNames.map(name => [name, values.get(name)]));
    }
  }
  return { Tensor, InferenceSession };
})();
