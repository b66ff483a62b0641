// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/gradientchecks.h"

#include "core/base/cancel.h"
#include "core/engine/verify/probing.h"
#include "core/engine/verify/reversecourse.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace retro::engine
{

using base::Result;
using probing::dotAbsolute;
using probing::dotAll;
using probing::onlyBetween;
using probing::scaledDifference;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

/// One node of a tape in double moved along drawn directions of its tracked operands: its reverse rule against a
/// central difference. Borrows the tape.
class NodeProbe
{
public:
    NodeProbe(const tape::ModelTape& made, tape::Id id, probing::Directions& directions);

    /// False where no operand carries a gradient.
    [[nodiscard]] bool moves() const;
    /// Error, kink and singularity into `result`. Errors: what the operator or its rule refuses.
    [[nodiscard]] base::Result<void> measure(NodeGradient& result);
    /// The fewest elements that arrive and move while the rule stays wrong, as a text; empty where it is not wrong.
    /// Errors as measure().
    [[nodiscard]] base::Result<std::string> smallestCase();

private:
    using Range = std::pair<std::int64_t, std::int64_t>;

    /// What the node's values do when its operands move by ±step.
    struct Difference
    {
        double step = 0;
        tape::Bundle slope;
        double steepness = 0;    ///< of the slope, without signs, by what arrives
        double bend = 0;         ///< by how much forward and backward differences disagree
        bool isSingular = false; ///< it is not finite
    };
    /// The rule against a difference.
    struct Comparison
    {
        std::pair<double, double> answers; ///< of the rule and of the difference
        double apart = 0;                  ///< of the two
        double error = 0;                  ///< the same over the size of what was added
        double rounding = 0;               ///< what the rounding of values makes of the difference at most
        bool isKink = false;
    };

    [[nodiscard]] static bool isInexact(const Comparison& comparison);
    [[nodiscard]] base::Result<Comparison> closest(const Difference& shortest,
                                                   const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    [[nodiscard]] base::Result<Difference> differenceOver(double step) const;
    [[nodiscard]] base::Result<bool> jumpsWithin(const Difference& shortest) const;
    [[nodiscard]] Comparison compared(const Difference& difference,
                                      const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    void joinRepeated();
    [[nodiscard]] bool isRepeated(std::size_t i) const;
    [[nodiscard]] base::Result<tape::Bundle> at(double step) const;
    [[nodiscard]] std::pair<double, double> along(const std::vector<tape::Contribution<tape::Bundle>>& parts) const;
    [[nodiscard]] base::Result<bool> isWrong();
    [[nodiscard]] base::Result<bool> isStillWrong(tensor::Tensor& place, tensor::Tensor other);
    [[nodiscard]] base::Result<std::string> narrowed(tensor::Tensor& place);
    [[nodiscard]] base::Result<Range> halved(tensor::Tensor& place);

    const tape::ModelTape& m_made;
    tape::Id m_id;
    const tape::Cell<tape::Bundle>& m_cell;
    std::pair<double, double> m_answers; ///< of the rule and of the difference, as measured last
    tape::Bundle m_upstream;
    std::vector<tensor::Tensor> m_directions;
    double m_step = 1e-6;
};

/// By how much steps grow that are tried one after the other, and up to how many times the shortest.
constexpr double kLonger = 100;
constexpr double kLongest = 1.01e4;

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

/// An id that takes one of several results of another: it computes nothing of its own.
bool isProjection(const ModelTape& made, Id id)
{
    const std::vector<Id>& parents = made.tape.cell(id).node.parents;
    return parents.size() == 1 && made.tape.cell(parents[0]).value.tensors.size() != 1;
}

bool counts(const NodeGradient& node) { return node.error && !node.isKink; }

/// NaN is worse than any number.
bool isWorse(double a, double b) { return std::isnan(a) ? !std::isnan(b) : a > b; }

const NodeGradient* worstOf(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = nullptr;
    for (const NodeGradient& node : nodes) {
        if (counts(node) && (worst == nullptr || isWorse(*node.error, *worst->error))) {
            worst = &node;
        }
    }
    return worst;
}

/// Finds the smallest case of the worst node, where that is wrong.
Result<void> shrinkWorst(const ModelTape& made, std::uint64_t seed, std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    if (worst == nullptr || *worst->error <= kPoorGradient) {
        return {};
    }
    probing::Directions directions(seed);
    NodeProbe probe(made, worst->id, directions);
    RETRO_TRY(nodes[static_cast<std::size_t>(worst - nodes.data())].smallest, probe.smallestCase());
    return {};
}

/// "40 nodes checked, 2 at a kink, 1 singular".
std::string countsText(const std::vector<NodeGradient>& nodes)
{
    const auto singular = std::ranges::count_if(nodes, &NodeGradient::isSingular);
    return fmt::format("{} nodes checked, {} at a kink{}", std::ranges::count_if(nodes, counts),
                       std::ranges::count_if(nodes, &NodeGradient::isKink),
                       singular == 0 ? std::string() : fmt::format(", {} singular", singular));
}

std::string worstText(const NodeGradient& worst)
{
    const std::string place = fmt::format("the worst is {} ({})", worst.node, worst.op);
    return std::isfinite(*worst.error) ? fmt::format("{} with a relative error of {:.3g}", place, *worst.error)
                                       : place + ", whose rule gives what is not finite while the difference is";
}

} // namespace

std::string_view nameOf(GradientState state)
{
    switch (state) {
    case GradientState::Checked:
        return "checked";
    case GradientState::NotFinite:
        return "rule not finite";
    case GradientState::Kink:
        return "kink";
    case GradientState::Singular:
        return "singular";
    case GradientState::NotChecked:
        break;
    }
    return "not checked";
}

GradientState NodeGradient::state() const
{
    if (isSingular) {
        return GradientState::Singular;
    }
    if (!error) {
        return GradientState::NotChecked;
    }
    if (isKink) {
        return GradientState::Kink;
    }
    return std::isfinite(*error) ? GradientState::Checked : GradientState::NotFinite;
}

Result<std::vector<NodeGradient>> checkNodes(const ModelTape& made, std::uint64_t seed, const std::stop_token& stop,
                                             const StageProgress& progress)
{
    probing::Directions directions(seed);
    std::vector<NodeGradient> results;
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        RETRO_CHECK(base::checkStop(stop));
        if (progress) {
            progress("gradients in double", id, made.tape.size());
        }
        const tape::Cell<Bundle>& cell = made.tape.cell(id);
        if (!cell.isTracked || isProjection(made, id)) {
            continue;
        }
        NodeGradient result{id, cell.node.name, made.model->graph().node(made.nodeOf[id]).op};
        NodeProbe probe(made, id, directions);
        if (probing::isSurrogate(made, id)) {
            result.note = "it chooses rows of tables or rounds: its gradient is a surrogate, not a slope";
        } else if (probe.moves()) {
            RETRO_CHECK(probe.measure(result));
        } else {
            result.note = "none of its operands carries a gradient";
        }
        results.push_back(std::move(result));
    }
    RETRO_CHECK(shrinkWorst(made, seed, results));
    return results;
}

PropertyResult judgeNodes(const std::vector<NodeGradient>& nodes)
{
    const NodeGradient* worst = worstOf(nodes);
    constexpr const char* kStatement = "each operator's reverse rule is the transpose of its derivative";
    if (worst == nullptr) {
        return {"P8", kStatement, PropertyState::NotApplicable,
                "no node could be checked away from a kink; " + countsText(nodes)};
    }
    const std::string text = countsText(nodes) + "; " + worstText(*worst);
    const std::string wrong = worst->smallest.empty() ? text : text + "; smallest case: " + worst->smallest;
    PropertyResult result = judged("P8", kStatement, {*worst->error <= kPoorGradient ? "" : wrong}, text);
    result.node = worst->node;
    return result;
}

} // namespace retro::engine
