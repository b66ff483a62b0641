// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/programcache.h"

#include "core/trace/recorder.h"

#include <algorithm>
#include <set>
#include <unordered_map>

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

/// Entries of each kind: a window goes back and forth between a few composites and targets.
constexpr std::size_t kMostPrograms = 8;

template <class Entry>
void push(std::vector<Entry>& entries, Entry entry)
{
    if (entries.size() == kMostPrograms) {
        entries.erase(entries.begin());
    }
    entries.push_back(std::move(entry));
}

bool isBoundToData(const execute::BoundModel& model)
{
    return std::ranges::any_of(model.boundInputs(), [](const tensor::Tensor& input) { return input.isValid(); });
}

bool areEqual(std::span<const tensor::Tensor> some, std::span<const tensor::Tensor> others)
{
    return std::ranges::equal(some, others,
                              [](const tensor::Tensor& a, const tensor::Tensor& b) { return a.bitEqual(b); });
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

bool LastPass::isOf(const std::shared_ptr<const execute::BoundModel>& other,
                    std::span<const tensor::Tensor> otherInputs, execute::SavePolicy policy,
                    std::span<const base::ValueId> wanted) const
{
    const auto isKept = [this](base::ValueId value) { return std::ranges::find(kept, value) != kept.end(); };
    return model == other && save == policy && std::ranges::all_of(wanted, isKept) && areEqual(inputs, otherInputs);
}

void LastPass::take(const std::vector<base::ValueId>& values, std::vector<tensor::Tensor>& others)
{
    if (targets != values) {
        memory = lrp::PassMemory();
        targets = values;
        starts = others;
        return;
    }
    for (std::size_t i = 0; i < others.size(); ++i) {
        if (starts[i].bitEqual(others[i])) {
            others[i] = starts[i];
        }
    }
    starts = others;
}

bool LastForward::isOf(const execute::BoundModel& other, std::span<const tensor::Tensor> otherInputs,
                       std::span<const base::ValueId> otherTargets, const lrp::ProgramRunner& otherRunner) const
{
    return model.get() == &other && runner.get() == &otherRunner && std::ranges::equal(targets, otherTargets) &&
           areEqual(inputs, otherInputs);
}

bool LastForward::isBeside(const execute::BoundModel& other, std::span<const tensor::Tensor> otherInputs,
                           base::ValueId choice) const
{
    const std::span<const base::ValueId> ids = other.graph().inputs();
    bool isSame = choice.isValid() && model.get() == &other && inputs.size() == otherInputs.size();
    for (std::size_t i = 0; isSame && i < inputs.size(); ++i) {
        isSame = ids[i] == choice || inputs[i].bitEqual(otherInputs[i]);
    }
    return isSame;
}

std::shared_ptr<const Prepared> ProgramCache::find(const PreparedFor& wanted) const
{
    const auto at = std::ranges::find(m_prepared, wanted, &Entry::madeFor);
    return at == m_prepared.end() ? nullptr : at->prepared;
}

std::shared_ptr<const execute::BoundModel> ProgramCache::findModel(const PreparedFor& wanted) const
{
    const auto at = std::ranges::find_if(m_prepared, [&wanted](const Entry& entry) {
        return entry.madeFor.inputs == wanted.inputs && entry.madeFor.precision == wanted.precision;
    });
    return at == m_prepared.end() ? nullptr : at->prepared->model;
}

void ProgramCache::keep(const PreparedFor& wanted, const std::shared_ptr<const Prepared>& prepared, bool hasControlFlow)
{
    if (!hasControlFlow && !isBoundToData(*prepared->model)) {
        push(m_prepared, Entry{wanted, prepared});
    }
}

std::optional<base::Hash128> ProgramCache::key(const CourseOf& course) const
{
    const auto at = std::ranges::find(m_keys, course, [](const auto& entry) { return entry.first; });
    return at == m_keys.end() ? std::nullopt : std::optional(at->second);
}

void ProgramCache::keep(CourseOf course, base::Hash128 key) { push(m_keys, std::pair{std::move(course), key}); }

std::shared_ptr<const Course> ProgramCache::course(base::Hash128 key) const
{
    const auto at = std::ranges::find(m_courses, key, [](const auto& entry) { return entry.first; });
    return at == m_courses.end() ? nullptr : at->second;
}

void ProgramCache::keep(base::Hash128 key, std::shared_ptr<const Course> course)
{
    std::erase_if(m_courses, [key](const auto& entry) { return entry.first == key; });
    push(m_courses, std::pair{key, std::move(course)});
}

std::shared_ptr<lrp::ProgramRunner> ProgramCache::runner(const std::shared_ptr<const Prepared>& prepared,
                                                         const Course& course, execute::SavePolicy save)
{
    for (const Tied& tied : m_runners) {
        if (tied.prepared == prepared && tied.runner->program() == course.program) {
            return tied.runner; // the save policy is in the program's key
        }
    }
    auto made = std::make_shared<lrp::ProgramRunner>(course.program, prepared->model, prepared->rules, save, true);
    push(m_runners, Tied{prepared, made});
    return made;
}

} // namespace retro::engine
