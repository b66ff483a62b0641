// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/gradientchecks.h"

#include "core/engine/verify/probing.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

namespace retro::engine
{

using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

/// Floats in order as integers.
std::int64_t ordinal(float value)
{
    const auto bits = std::bit_cast<std::int32_t>(value);
    return bits < 0 ? std::int64_t{std::numeric_limits<std::int32_t>::min()} - bits : bits;
}

/// The largest differences that were met.
struct Farthest
{
    double difference = 0;
    double largest = 0;
};

/// One element in float and in double.
void addElement(double narrow, double exact, UlpDistance& result, Farthest& farthest)
{
    if (!std::isfinite(narrow) || !std::isfinite(exact)) {
        const bool isSame = narrow == exact || (std::isnan(narrow) && std::isnan(exact));
        result.overflows += isSame ? 0 : 1;
        return;
    }
    const auto gap = ordinal(static_cast<float>(narrow)) - ordinal(static_cast<float>(exact));
    result.most = std::max(result.most, static_cast<std::uint64_t>(gap < 0 ? -gap : gap));
    farthest.difference = std::max(farthest.difference, std::abs(narrow - exact));
    farthest.largest = std::max(farthest.largest, std::abs(exact));
}

UlpDistance distance(UlpDistance result, const Tensor& narrow, const Tensor& wide)
{
    const Tensor a = narrow.contiguous();
    const Tensor b = wide.contiguous();
    Farthest farthest;
    for (std::int64_t i = 0; i < a.size(); ++i) {
        addElement(a.at(i), b.at(i), result, farthest);
    }
    result.relative = farthest.largest > 0 ? farthest.difference / farthest.largest : farthest.difference;
    return result;
}

} // namespace

std::vector<UlpDistance> ulpDistances(const ModelTape& narrow, const ModelTape& wide)
{
    std::vector<UlpDistance> results;
    for (Id id = static_cast<Id>(narrow.tape.leafCount()); id < narrow.tape.size(); ++id) {
        if (!narrow.valueOf[id].isValid()) {
            continue;
        }
        const Tensor& a = narrow.tape.cell(id).value.only();
        const auto other = wide.model->graph().findValue(narrow.nameOf(id));
        const Id otherId = other ? wide.idOf[other->index()] : ModelTape::kNowhere;
        if (!probing::isFloating(a) || otherId == ModelTape::kNowhere) {
            continue;
        }
        const Tensor& b = wide.tape.cell(otherId).value.only();
        if (b.shape() == a.shape()) {
            results.push_back(distance({narrow.nameOf(id), narrow.model->graph().node(narrow.nodeOf[id]).name}, a, b));
        }
    }
    return results;
}

} // namespace retro::engine
