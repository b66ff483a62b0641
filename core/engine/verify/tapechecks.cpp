// SPDX-License-Identifier: Apache-2.0
#include "core/engine/verify/tapechecks.h"

#include "core/base/cancel.h"
#include "core/engine/verify/cellchecks.h"
#include "core/engine/verify/smallertape.h"
#include "core/tape/recursion.h"

#include <fmt/format.h>

#include <algorithm>

namespace retro::engine
{

using base::Result;
using tape::Bundle;
using tape::Id;
using tape::ModelTape;
using tensor::Tensor;

namespace
{

/// Contributions that do not go to an earlier id, while a loop runs; and what the loop does, for the recursion.
class Direction final : public tape::Watcher<Bundle>
{
public:
    CourseRecorder course;
    std::size_t count = 0;
    Counterexample wrong;

    explicit Direction(const ModelTape& made) : course(made), m_made(made) {}
    void onCell(Id id, const Bundle& upstream, const std::vector<tape::Contribution<Bundle>>& list) override
    {
        if (isShort()) {
            course.onCell(id, upstream, list);
        }
        for (const tape::Contribution<Bundle>& part : list) {
            ++count;
            if (part.parent >= id && wrong.text.empty()) {
                wrong = {fmt::format("{} sends a part to {}", m_made.nameOf(id), m_made.nameOf(part.parent)),
                         nodeAt(m_made, id)};
            }
        }
    }

    void onSlot(Id id, Id parent, const Bundle& slot) override
    {
        if (isShort()) {
            course.onSlot(id, parent, slot);
        }
    }

private:
    [[nodiscard]] bool isShort() const { return m_made.tape.size() <= kMostRecursion; }

    const ModelTape& m_made;
};

/// The last slot that differs: the fewest rules ran before it.
template <class Same>
Counterexample differingSlot(const ModelTape& made, const std::vector<Bundle>& a, const std::vector<Bundle>& b,
                             const Same& same)
{
    for (Id id = static_cast<Id>(std::min(a.size(), b.size())); id-- > 0;) {
        if (!same(a[id], b[id])) {
            return {fmt::format("the slot of {} (id {}) differs after {} cells", made.nameOf(id), id,
                                made.tape.size() - id),
                    nodeAt(made, id)};
        }
    }
    return {};
}

std::vector<std::uint8_t> trackedIds(const ModelTape& made)
{
    std::vector<std::uint8_t> tracked;
    for (Id id = 0; id < made.tape.size(); ++id) {
        tracked.push_back(made.tape.cell(id).isTracked ? 1 : 0);
    }
    return tracked;
}

/// A part that does not go to an earlier id.
Result<Counterexample> wrongDirection(const ModelTape& made, Id from, const Tensor& start)
{
    Direction direction(made);
    const auto dense = tape::denseLoop<Bundle>(made.tape, tape::oneSeed(made.tape, from, Bundle(start)), &direction);
    return dense.ok() ? direction.wrong : Result<Counterexample>(dense.error().asError());
}

constexpr const char* kRecursion = "dense loop = recursion, slot by slot, bit for bit";

Result<Counterexample> differsFromRecursion(const ModelTape& made, const std::vector<Bundle>& seed,
                                            const std::vector<Bundle>& dense, CourseRecorder& course)
{
    std::vector<Bundle> context;
    for (Id id = 0; id < made.tape.size(); ++id) {
        context.push_back(made.tape.cell(id).value);
    }
    const std::vector<std::uint8_t> tracked = trackedIds(made);
    const tape::Payload<Bundle> none;
    const tape::NodeList<Bundle> nodes = made.nodes();
    const auto compare = [&course](Id id, const std::vector<Bundle>& rest) { course.onPeeled(id, rest); };
    const auto recursed = tape::recursion<Bundle>(nodes, {context, none, tape::Zeros::LeftOut, tracked, compare}, seed);
    if (!recursed.ok()) {
        return recursed.error().asError();
    }
    return differingSlot(made, dense, *recursed, [](const Bundle& a, const Bundle& b) { return a.bitEqual(b); });
}

Result<PropertyResult> checkRecursion(const ModelTape& made, Id target, const std::vector<Bundle>& seed,
                                      const std::vector<Bundle>& dense, CourseRecorder& course)
{
    if (made.tape.size() > kMostRecursion) {
        return PropertyResult{
            "P5", kRecursion, PropertyState::NotApplicable,
            fmt::format("the tape has {} cells, and the recursion is run up to {}", made.tape.size(), kMostRecursion)};
    }
    RETRO_TRY(Counterexample wrong, differsFromRecursion(made, seed, dense, course));
    const DiffersFrom again = [](const ModelTape& small, Id from, const Tensor& start) -> Result<Counterexample> {
        const std::vector<Bundle> ones = tape::oneSeed(small.tape, from, Bundle(start));
        const auto loop = tape::denseLoop<Bundle>(small.tape, ones);
        CourseRecorder unused(small);
        return loop.ok() ? differsFromRecursion(small, ones, *loop, unused) : loop.error().asError();
    };
    return judged("P5", kRecursion, withSmallest(made, target, std::move(wrong), again),
                  fmt::format("{} slots", made.tape.size()));
}

/// Cells whose rules answer a zero with something else.
Result<std::vector<Id>> rulesThatMakeSomethingOfNothing(const ModelTape& made)
{
    std::vector<Id> found;
    for (Id id = static_cast<Id>(made.tape.leafCount()); id < made.tape.size(); ++id) {
        if (!made.tape.cell(id).isTracked) {
            continue;
        }
        const auto preserves = tape::preservesZero(made.tape, id);
        if (!preserves.ok()) {
            return preserves.error().asError();
        }
        if (!*preserves) {
            found.push_back(id);
        }
    }
    return found;
}

/// The skipping loop against the dense one.
Result<Counterexample> differsWhenSkipping(const ModelTape& made, Id target, const Tensor& start,
                                           const std::vector<Bundle>& dense)
{
    tape::Slots<Bundle> seed(made.tape.size());
    seed[target] = Bundle(start);
    auto skipped = tape::skippingLoop<Bundle>(made.tape, std::move(seed));
    if (!skipped.ok()) {
        return skipped.error().asError();
    }
    const std::vector<Bundle> filled = tape::filled(made.tape, std::move(skipped).value());
    return differingSlot(made, dense, filled, [](const Bundle& a, const Bundle& b) { return a == b; });
}

/// A dense loop, then `compare`.
template <class Compare>
DiffersFrom afterDense(const Compare& compare)
{
    return [compare](const ModelTape& small, Id from, const Tensor& start) -> Result<Counterexample> {
        const auto loop = tape::denseLoop<Bundle>(small.tape, tape::oneSeed(small.tape, from, Bundle(start)));
        return loop.ok() ? compare(small, from, start, *loop) : loop.error().asError();
    };
}

Result<PropertyResult> checkSkipping(const ModelTape& made, Id target, const Tensor& start,
                                     const std::vector<Bundle>& dense)
{
    constexpr const char* kStatement = "skipping loop = dense loop when every rule answers zero with zeros";
    RETRO_TRY(const std::vector<Id> leaky, rulesThatMakeSomethingOfNothing(made));
    if (!leaky.empty()) {
        return PropertyResult{"P6", kStatement, PropertyState::NotApplicable,
                              fmt::format("{} rules answer a zero with something else, the first at {}", leaky.size(),
                                          made.nameOf(leaky.front())),
                              nodeAt(made, leaky.front())};
    }
    RETRO_TRY(Counterexample wrong, differsWhenSkipping(made, target, start, dense));
    return judged("P6", kStatement, withSmallest(made, target, std::move(wrong), afterDense(differsWhenSkipping)),
                  fmt::format("{} slots, every rule asked with zeros", made.tape.size()));
}

/// One cell more behind all others, at which nothing arrives.
Result<Counterexample> differsWhenLonger(const ModelTape& made, Id target, const Tensor& start,
                                         const std::vector<Bundle>& dense)
{
    std::vector<Bundle> seed = tape::oneSeed(made.tape, target, Bundle(start));
    tape::Tape<Bundle> longer = made.tape;
    const Bundle& value = made.tape.cell(target).value;
    const auto copy = std::make_shared<tape::FunctionOperator<Bundle>>(
        [](tape::Operands<Bundle> x, const tape::Payload<Bundle>&) -> Result<Bundle> { return *x.front(); },
        [](const tape::Site<Bundle>&, const Bundle& up) -> Result<tape::Parts<Bundle>> {
            return tape::Parts<Bundle>{up};
        });
    longer.append({{copy, {target}, "one more"}, value});
    seed.push_back(tape::ValueTraits<Bundle>::zeroLike(value));
    const auto after = tape::denseLoop<Bundle>(longer, std::move(seed));
    if (!after.ok()) {
        return after.error().asError();
    }
    return differingSlot(made, dense, *after, [](const Bundle& a, const Bundle& b) { return a == b; });
}

Result<PropertyResult> checkAppended(const ModelTape& made, Id target, const Tensor& start,
                                     const std::vector<Bundle>& dense)
{
    RETRO_TRY(Counterexample wrong, differsWhenLonger(made, target, start, dense));
    return judged("P9", "a cell more, with nothing arriving there, changes nothing",
                  withSmallest(made, target, std::move(wrong), afterDense(differsWhenLonger)),
                  fmt::format("a copy of {} appended", made.nameOf(target)));
}

} // namespace

Result<PropertyResults> checkTape(const ModelTape& made, Id target, const Tensor& start, const std::stop_token& stop,
                                  ReverseCourse* course)
{
    RETRO_TRY(PropertyResults results, checkCells(made, stop));
    if (!isSound(made)) {
        return results;
    }
    const std::vector<Bundle> seed = tape::oneSeed(made.tape, target, Bundle(start));
    Direction direction(made);
    const auto dense = tape::denseLoop<Bundle>(made.tape, seed, &direction);
    RETRO_CHECK(base::checkStop(stop));
    if (!dense.ok()) {
        return dense.error().asError();
    }
    results.push_back(judged("P4", kDirection, withSmallest(made, target, direction.wrong, wrongDirection),
                             fmt::format("{} parts", direction.count)));
    RETRO_TRY(results.emplace_back(), checkRecursion(made, target, seed, *dense, direction.course));
    if (course != nullptr && made.tape.size() <= kMostRecursion) {
        *course = direction.course.take();
    }
    RETRO_TRY(results.emplace_back(), checkSkipping(made, target, start, *dense));
    RETRO_TRY(results.emplace_back(), checkAppended(made, target, start, *dense));
    return results;
}

} // namespace retro::engine
