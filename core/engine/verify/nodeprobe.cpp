// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/nodeprobe.h"

#include "core/engine/verify/reversecourse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace retro::engine
{

using base::Result;
using probing::dotAbsolute;
using probing::dotAll;
using probing::onlyBetween;
using probing::scaledDifference;
using tape::Bundle;
using tape::Id;
using tensor::Tensor;

namespace
{

/// By how much steps grow that are tried one after the other, and up to how many times the shortest.
constexpr double kLonger = 100;
constexpr double kLongest = 1.01e4;

} // namespace

NodeProbe::NodeProbe(const tape::ModelTape& made, Id id, probing::Directions& directions)
    : m_made(made), m_id(id), m_cell(made.tape.cell(id))
{
    for (const Tensor& tensor : m_cell.value.tensors) {
        m_upstream.tensors.push_back(directions.like(tensor));
    }
    double size = 0;
    for (const Id parent : m_cell.node.parents) {
        const auto& operand = made.tape.cell(parent);
        m_directions.push_back(operand.isTracked ? directions.like(operand.value.only()) : Tensor());
        size = std::max(size, operand.isTracked ? probing::magnitude(operand.value.only()) : 0);
    }
    m_step = 1e-6 * (size > 0 ? size : 1);
    joinRepeated();
}

/// An operand that occurs twice moves as one value does.
void NodeProbe::joinRepeated()
{
    for (std::size_t i = 0; i < m_directions.size(); ++i) {
        const auto first = std::ranges::find(m_cell.node.parents, m_cell.node.parents[i]);
        m_directions[i] = m_directions[static_cast<std::size_t>(first - m_cell.node.parents.begin())];
    }
}

bool NodeProbe::moves() const
{
    return std::ranges::any_of(m_directions, [](const Tensor& one) { return one.isValid(); });
}

Result<void> NodeProbe::measure(NodeGradient& result)
{
    result.error.reset();
    RETRO_TRY(const Difference shortest, differenceOver(m_step));
    result.isSingular = shortest.isSingular;
    if (shortest.isSingular) {
        result.note = "its difference is not finite here: at a root of 0, at a pole, or beyond the largest number";
        return {};
    }
    const auto parts = tape::contributionsOf(m_made.tape, m_id, m_upstream);
    if (!parts.ok()) {
        return parts.error().asError();
    }
    RETRO_TRY(const Comparison best, closest(shortest, *parts));
    m_answers = best.answers;
    result.isKink = best.isKink;
    if (isInexact(best) && best.apart <= best.rounding) {
        result.note = "its difference drowns in the rounding of its values, which are far larger";
        return {};
    }
    RETRO_TRY(const bool isJump, isInexact(best) ? jumpsWithin(shortest) : Result<bool>(false));
    if (isJump) {
        result.note = "it jumps within the shortest step: the shorter the step, the larger its difference";
    } else {
        result.error = best.error;
    }
    return {};
}

/// The comparison over the shortest step; where that is poor, the best of those over longer ones: what is lost in
/// rounding over a short step may not be over a long one.
Result<NodeProbe::Comparison> NodeProbe::closest(const Difference& shortest,
                                                 const std::vector<tape::Contribution<Bundle>>& parts) const
{
    Comparison best = compared(shortest, parts);
    const double longest = m_step * kLongest;
    for (double step = m_step * kLonger; isInexact(best) && std::isfinite(longest) && step <= longest;
         step *= kLonger) {
        RETRO_TRY(const Difference longer, differenceOver(step));
        const Comparison other = longer.isSingular ? best : compared(longer, parts);
        best = !other.isKink && other.error < best.error ? other : best;
    }
    return best;
}

/// A function that turns from one value to another within the step, at weights of 1e33 for example: its difference is
/// the height of the jump over the step, whatever the slope is.
Result<bool> NodeProbe::jumpsWithin(const Difference& shortest) const
{
    RETRO_TRY(const Difference half, differenceOver(shortest.step / 2));
    const double shorter = std::abs(dotAll(m_upstream, half.slope));
    return shorter > 1.5 * std::abs(dotAll(m_upstream, shortest.slope)) &&
           shorter > probing::roundingOf(dotAbsolute(m_upstream, m_cell.value), half.step);
}

bool NodeProbe::isInexact(const Comparison& comparison)
{
    return !comparison.isKink && !(comparison.error <= kPoorGradient);
}

Result<NodeProbe::Difference> NodeProbe::differenceOver(double step) const
{
    RETRO_TRY(const Bundle ahead, at(step));
    RETRO_TRY(const Bundle behind, at(-step));
    Difference result{step, scaledDifference(ahead, behind, 0.5 / step)};
    const Bundle rise = scaledDifference(ahead, m_cell.value, 1 / step);
    const Bundle fall = scaledDifference(m_cell.value, behind, 1 / step);
    result.steepness = dotAbsolute(m_upstream, result.slope);
    result.isSingular =
        !std::isfinite(result.steepness + dotAbsolute(m_upstream, rise) + dotAbsolute(m_upstream, fall));
    result.bend = result.isSingular ? 0 : dotAbsolute(m_upstream, scaledDifference(rise, fall, 1));
    return result;
}

NodeProbe::Comparison NodeProbe::compared(const Difference& difference,
                                          const std::vector<tape::Contribution<Bundle>>& parts) const
{
    Comparison result;
    const auto [sum, size] = along(parts);
    const double measured = dotAll(m_upstream, difference.slope);
    result.answers = {sum, measured};
    const double scale = std::max({std::isfinite(size) ? size : 0, difference.steepness, 1e-30});
    result.apart = std::abs(measured - sum);
    const double error = result.apart / scale;
    result.error = std::isfinite(error) ? error : std::numeric_limits<double>::infinity();
    result.rounding = probing::roundingOf(dotAbsolute(m_upstream, m_cell.value), difference.step);
    result.isKink = difference.bend > probing::kKink * scale;
    return result;
}

Result<Bundle> NodeProbe::at(double step) const
{
    std::vector<Bundle> values;
    values.reserve(m_directions.size());
    std::vector<const Bundle*> operands;
    for (std::size_t i = 0; i < m_directions.size(); ++i) {
        const Bundle& operand = m_made.tape.cell(m_cell.node.parents[i]).value;
        if (m_directions[i].isValid()) {
            values.emplace_back(probing::moved(operand.only(), m_directions[i], step));
            operands.push_back(&values.back());
        } else {
            operands.push_back(&operand);
        }
    }
    return m_cell.node.op->forward(operands, m_made.tape.payload());
}

/// ⟨direction, parts⟩ and the sum of its absolute terms. An operand that occurs twice has one part for both.
std::pair<double, double> NodeProbe::along(const std::vector<tape::Contribution<Bundle>>& parts) const
{
    double sum = 0;
    double size = 0;
    for (const tape::Contribution<Bundle>& part : parts) {
        const auto at = std::ranges::find(m_cell.node.parents, part.parent) - m_cell.node.parents.begin();
        const Bundle direction(m_directions[static_cast<std::size_t>(at)]);
        sum += dotAll(direction, part.value);
        size += dotAbsolute(direction, part.value);
    }
    return {sum, size};
}

namespace
{

/// `words` with what is left of a tensor in the place of {}; nothing when nothing of it is needed.
Result<void> addPlace(const std::string& words, const Result<std::string>& part, std::vector<std::string>& places)
{
    if (!part.ok()) {
        return part.error();
    }
    if (!part->empty()) {
        places.push_back(fmt::format(fmt::runtime(words), *part));
    }
    return {};
}

} // namespace

Result<std::string> NodeProbe::smallestCase()
{
    RETRO_TRY(const bool isWrongAtAll, isWrong());
    if (!isWrongAtAll) {
        return std::string();
    }
    std::vector<std::string> places;
    for (std::size_t k = 0; k < m_upstream.tensors.size(); ++k) {
        RETRO_CHECK(addPlace(fmt::format("result {}{{}} receives", k), narrowed(m_upstream.tensors[k]), places));
    }
    for (std::size_t i = 0; i < m_directions.size(); ++i) {
        RETRO_CHECK(addPlace(fmt::format("operand {}{{}} moves", i),
                             isRepeated(i) ? std::string() : narrowed(m_directions[i]), places));
    }
    RETRO_CHECK(isWrong()); // for the answers of the last case that stayed
    const std::string place = places.empty() ? "with nothing that arrives" : fmt::format("{}", fmt::join(places, ", "));
    return fmt::format("{}: the rule answers {:.6g}, the difference {:.6g}", place, m_answers.first, m_answers.second);
}

bool NodeProbe::isRepeated(std::size_t i) const
{
    const std::vector<Id>& parents = m_cell.node.parents;
    return std::find(parents.begin(), parents.begin() + static_cast<std::ptrdiff_t>(i), parents[i]) !=
           parents.begin() + static_cast<std::ptrdiff_t>(i);
}

Result<bool> NodeProbe::isWrong()
{
    joinRepeated();
    NodeGradient result;
    RETRO_CHECK(measure(result));
    return result.error && !result.isKink && !(*result.error <= kPoorGradient);
}

/// Puts `other` in a place if the rule is wrong with it, too.
Result<bool> NodeProbe::isStillWrong(Tensor& place, Tensor other)
{
    const Tensor before = std::exchange(place, std::move(other));
    RETRO_TRY(const bool isStillWrong, isWrong());
    if (!isStillWrong) {
        place = before;
    }
    return isStillWrong;
}

/// Takes elements of `place` away. Where those are that are left; empty where none is needed.
Result<std::string> NodeProbe::narrowed(Tensor& place)
{
    if (!place.isValid() || place.size() == 0) {
        return std::string();
    }
    RETRO_TRY(const bool isNeedless, isStillWrong(place, onlyBetween(place, 0, 0)));
    if (isNeedless) {
        return std::string();
    }
    RETRO_TRY(const auto left, halved(place));
    const auto [begin, end] = left;
    if (end - begin > 1) {
        return fmt::format(" at the {} elements from {} on", end - begin, placeText(place.shape(), begin));
    }
    RETRO_TRY(const bool isOne, isStillWrong(place, probing::oneAt(place, begin)));
    return fmt::format(" at {}{}", placeText(place.shape(), begin), isOne ? " alone, by 1," : " alone");
}

/// Takes halves of `place` away while the rule stays wrong; from where to where elements are left.
Result<NodeProbe::Range> NodeProbe::halved(Tensor& place)
{
    Range left{0, place.size()};
    for (bool isSmaller = true; isSmaller && left.second - left.first > 1;) {
        const std::int64_t middle = left.first + (left.second - left.first) / 2;
        RETRO_TRY(const bool isLow, isStillWrong(place, onlyBetween(place, left.first, middle)));
        RETRO_TRY(const bool isHigh, isLow ? false : isStillWrong(place, onlyBetween(place, middle, left.second)));
        left = isLow ? Range{left.first, middle} : isHigh ? Range{middle, left.second} : left;
        isSmaller = isLow || isHigh;
    }
    return left;
}

} // namespace retro::engine
