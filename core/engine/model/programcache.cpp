// SPDX-License-Identifier: Apache-2.0
#include "core/engine/model/programcache.h"

#include <algorithm>
#include <span>

namespace retro::engine
{

namespace
{

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
