// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/segment.h"

#include "core/ops/kernel/visitnumber.h"
#include "core/trace/targetplace.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace retro::engine
{

using base::Result;
using base::usageError;

namespace
{

/// How the elements of a target are grouped.
struct Samples
{
    std::int64_t count = 1;
    std::int64_t length = 1;
};

/// How the places of a sample lie around its classes: places × classes × places in memory of row-major order.
struct ClassLayout
{
    std::int64_t outer = 1;
    std::int64_t classes = 1;
    std::int64_t inner = 1;
};

ClassLayout classesOf(const std::vector<std::string>& axes, const tensor::Shape& shape)
{
    ClassLayout layout;
    const auto classAxis = static_cast<std::size_t>(std::ranges::find(axes, "class") - axes.begin());
    for (std::size_t axis = 1; axis < shape.size(); ++axis) {
        (axis < classAxis ? layout.outer : axis == classAxis ? layout.classes : layout.inner) *= shape[axis];
    }
    return layout;
}

/// Positions in a sample of the class at the places where no other one scores higher; of equal ones the first wins.
template <class T>
std::vector<std::int64_t> segmentOf(const T* values, const ClassLayout& layout, std::int64_t wanted)
{
    std::vector<std::int64_t> found;
    for (std::int64_t outer = 0; outer < layout.outer; ++outer) {
        for (std::int64_t inner = 0; inner < layout.inner; ++inner) {
            const auto at = [&](std::int64_t c) { return (outer * layout.classes + c) * layout.inner + inner; };
            std::int64_t best = -1;
            T most = -std::numeric_limits<T>::infinity();
            for (std::int64_t c = 0; c < layout.classes; ++c) {
                if (values[at(c)] > most && values[at(c)] <= std::numeric_limits<T>::max()) {
                    most = values[at(c)];
                    best = c;
                }
            }
            if (best == wanted) {
                found.push_back(at(wanted));
            }
        }
    }
    return found;
}

/// Target and start of a segment, in the type of `plain`.
template <class T>
Result<tensor::Tensor> startOfSegment(ResolvedTarget& target, std::int64_t wanted, StartKind kind,
                                      const tensor::Tensor& plain, const Samples& samples, const ClassLayout& layout)
{
    tensor::TensorBuffer buffer(plain.dtype(), plain.shape());
    buffer.clear();
    T* out = buffer.data<T>();
    for (std::int64_t s = 0; s < samples.count; ++s) {
        const T* values = plain.data<T>() + s * samples.length;
        const std::vector<std::int64_t> places = segmentOf(values, layout, wanted);
        if (places.empty()) {
            return usageError(fmt::format("class {} has the largest score at no place of sample {}; ask for a segment "
                                          "that is there, or for one place",
                                          wanted, s),
                              fmt::format("--target segment={}", wanted));
        }
        double sum = 0;
        for (const std::int64_t place : places) {
            sum += static_cast<double>(values[place]);
            out[s * samples.length + place] = kind == StartKind::One ? T{1} : values[place];
        }
        target.index.push_back(-1);
        target.logit.push_back(sum);
        target.place.push_back(fmt::format("segment {}, {} places", wanted, places.size()));
    }
    return std::move(buffer).freeze();
}

} // namespace

std::optional<std::int64_t> segmentIn(const TargetRequest& request)
{
    const bool isSegment = request.kind == TargetRequest::Kind::Place && request.place.size() == 1 &&
                           request.place.front().axis == kSegmentAxis;
    return isSegment ? std::optional(request.place.front().index) : std::nullopt;
}

Result<ResolvedTarget> resolveSegment(std::int64_t wanted, const StartRequest& start, base::ValueId value,
                                      const tensor::Tensor& forward, const std::vector<std::string>& axes)
{
    const std::string written = fmt::format("--target segment={}", wanted);
    if (!trace::isDense(axes, forward.shape())) {
        return usageError(fmt::format("a segment is of outputs that have a class for each place, and this one is {}; "
                                      "name the class alone",
                                      tensor::toText(forward.shape())),
                          written);
    }
    if (start.kind == StartKind::Contrastive || !start.against.empty()) {
        return usageError("a segment has no contrast to other elements; start at logit, one or all", written);
    }
    ResolvedTarget target;
    target.value = value;
    const bool isFloat = forward.dtype() == tensor::DType::Float32 || forward.dtype() == tensor::DType::Float64;
    const tensor::Tensor plain = (isFloat ? forward : forward.to(tensor::DType::Float64)).contiguous();
    const ClassLayout layout = classesOf(axes, forward.shape());
    const Samples samples{forward.shape().front(), layout.outer * layout.classes * layout.inner};
    if (wanted < 0 || wanted >= layout.classes) {
        return usageError(fmt::format("there is no class {}; the output has {}", wanted, layout.classes), written);
    }
    RETRO_TRY(const tensor::Tensor begun, ops::visitFloat(plain.dtype(), [&](auto zero) {
                  return startOfSegment<decltype(zero)>(target, wanted, start.kind, plain, samples, layout);
              }));
    target.start = begun.to(forward.dtype());
    if (start.kind == StartKind::All) {
        target.start = forward.contiguous();
    } else if (start.kind == StartKind::Given) {
        RETRO_TRY(target.start, start.given.isValid() ? Result<tensor::Tensor>(start.given.to(forward.dtype()))
                                                      : givenStart(start.file, forward));
    }
    return target;
}

} // namespace retro::engine
