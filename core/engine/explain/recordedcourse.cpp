// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/recordedcourse.h"

#include "core/trace/recorder.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

namespace retro::engine
{

namespace
{

using lrp::HandleOrigin;
using tensor::Tensor;

constexpr std::size_t kMostEvents = 1'000'000; // 48 MB

Tensor at(const std::vector<std::vector<Tensor>>& table, const HandleOrigin& origin)
{
    const std::vector<Tensor>& row = table[origin.node.index()];
    return origin.item < row.size() ? row[origin.item] : Tensor();
}

Tensor tensorOf(const HandleOrigin& origin, const ProgramTensors& tensors)
{
    switch (origin.from) {
    case HandleOrigin::From::Start:
        return tensors.starts[origin.item];
    case HandleOrigin::From::Part:
        return at(tensors.made.parts, origin);
    case HandleOrigin::From::Sum:
        return at(tensors.made.sums, origin);
    case HandleOrigin::From::Value:
        return tensors.saved.anyValue(base::ValueId(origin.item));
    }
    return {};
}

/// The rows of the rules in the order and with the visits of the traversal; those of inputs stay behind them.
bool sendLedger(const RecordedCourse& course, std::span<const event::LedgerEntry> ledger, event::Sink& sink)
{
    std::unordered_map<std::uint32_t, const event::LedgerEntry*> rowOf; // by node: the first is that of its rule
    for (const event::LedgerEntry& row : ledger) {
        rowOf.emplace(row.node, &row);
    }
    std::size_t rules = 0;
    for (const event::Event& event : course.events) {
        if (event.kind != event::EventKind::Rule) {
            continue;
        }
        const auto found = rowOf.find(event.node);
        if (found == rowOf.end() || ++rules > ledger.size()) {
            return false;
        }
        event::LedgerEntry row = *found->second;
        row.visit = event.visit;
        sink.onLedger(row);
    }
    for (event::LedgerEntry row : ledger.subspan(rules)) {
        row.visit = course.events.back().visit;
        sink.onLedger(row);
    }
    return true;
}

} // namespace

std::shared_ptr<const RecordedCourse> recordedCourse(const trace::Run& run, std::vector<HandleOrigin> origins)
{
    const auto isValue = [](const HandleOrigin& origin) { return origin.from == HandleOrigin::From::Value; };
    const bool isWhole = run.tensors.size() == origins.size() && std::ranges::all_of(run.tensors, &Tensor::isValid);
    const bool isNamed = std::ranges::all_of(
        origins, [&](const HandleOrigin& origin) { return !isValue(origin) || base::ValueId(origin.item).isValid(); });
    if (!isWhole || !isNamed || run.events.empty() || run.events.size() > kMostEvents) {
        return nullptr;
    }
    std::set<base::ValueId> values;
    for (const HandleOrigin& origin : origins) {
        if (isValue(origin)) {
            values.insert(base::ValueId(origin.item));
        }
    }
    auto course = std::make_shared<RecordedCourse>();
    course->events = run.events;
    course->visitStart = run.visitStart;
    course->origins = std::move(origins);
    course->values.assign(values.begin(), values.end());
    return course;
}

std::optional<trace::Run> runOf(const RecordedCourse& course, const ProgramTensors& tensors)
{
    trace::Recorder recorder;
    for (std::uint32_t handle = 0; handle < course.origins.size(); ++handle) {
        const Tensor tensor = tensorOf(course.origins[handle], tensors);
        if (!tensor.isValid()) {
            return std::nullopt;
        }
        recorder.onTensor(base::HandleId(handle), tensor);
    }
    if (!sendLedger(course, tensors.ledger, recorder)) {
        return std::nullopt;
    }
    trace::Run run = std::move(recorder).take();
    run.events = course.events;
    run.visitStart = course.visitStart;
    return run;
}

} // namespace retro::engine
