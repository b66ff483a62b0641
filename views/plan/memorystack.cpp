// SPDX-License-Identifier: Apache-2.0
#include "views/plan/memorystack.h"

#include "views/plan/shownplan.h"

#include <algorithm>

namespace retro::views
{

namespace
{

/// A plan of more stays is drawn by its sums alone.
constexpr std::size_t kMostStays = 50'000;

/// Columns that begin before each step of a plan.
std::vector<std::uint32_t> firstColumns(const ShownPlan& plan)
{
    std::vector<std::uint32_t> before(plan.plan().steps.size() + 1, 0);
    for (const ScheduleColumn& column : plan.matrix.columns()) {
        before[column.step + 1] = 1;
    }
    for (std::size_t i = 1; i < before.size(); ++i) {
        before[i] += before[i - 1];
    }
    return before;
}

/// "relevance of block1/Add".
std::string gradientName(const ShownPlan& plan, std::uint32_t row)
{
    const char* what = plan.subject->half == PlanFor::Relevance ? "relevance of " : "gradient of ";
    return what + plan.rowLabel(row).toStdString();
}

/// A band for each stay of a value.
void addStays(const ShownPlan& plan, std::vector<StackBand>& bands)
{
    const analysis::OpGraph& graph = plan.graph();
    const std::vector<std::uint32_t> before = firstColumns(plan);
    const auto columnOf = [&](std::uint32_t step) { return before[std::min<std::size_t>(step, before.size() - 1)]; };
    std::vector<bool> wasThere(graph.values().size(), false);
    for (const schedule::Stay& stay : plan.run.stays) {
        const analysis::OpValue& value = graph.value(stay.value);
        const std::uint32_t from = columnOf(stay.from);
        const std::uint32_t until = columnOf(stay.until);
        if (from >= until || value.bytes == 0) {
            continue;
        }
        const bool isGradient =
            value.producer != analysis::kNone && graph.op(value.producer).phase == analysis::Phase::Gradient;
        const StackKind kind = isGradient             ? StackKind::Relevance
                               : wasThere[stay.value] ? StackKind::Rebuilt
                                                      : StackKind::Kept;
        wasThere[stay.value] = true;
        const std::uint32_t row = plan.matrix.rowOf(stay.value); // of a gradient that of its value
        const std::string name = isGradient && row != analysis::kNone ? gradientName(plan, row) : value.name;
        bands.push_back({isGradient ? analysis::kNone : row, kind, from, until, value.bytes, name, {}});
    }
}

/// A band for the workspace of each operator that has one.
void addWorkspaces(const ShownPlan& plan, std::vector<StackBand>& bands)
{
    const analysis::OpGraph& graph = plan.graph();
    for (std::uint32_t at = 0; at < plan.matrix.columns().size(); ++at) {
        const analysis::OpId op = plan.matrix.columns()[at].op;
        if (op != analysis::kNone && graph.op(op).workspace > 0) {
            bands.push_back({analysis::kNone, StackKind::Relevance, at, at + 1, graph.op(op).workspace, "workspace",
                             "workspace of " + graph.op(op).name});
        }
    }
}

} // namespace

std::vector<const StackBand*> MemoryStack::at(std::uint32_t column) const
{
    std::vector<const StackBand*> there;
    for (const StackBand& band : bands) {
        if (band.from > column) {
            break;
        }
        if (column < band.until) {
            there.push_back(&band);
        }
    }
    std::ranges::stable_sort(there, [](const StackBand* a, const StackBand* b) { return a->bytes > b->bytes; });
    return there;
}

void MemoryStack::finish(std::size_t columns)
{
    std::ranges::stable_sort(bands, {}, &StackBand::from);
    std::vector<std::int64_t> change(columns + 1, 0);
    for (const StackBand& band : bands) {
        change[band.from] += static_cast<std::int64_t>(band.bytes);
        change[band.until] -= static_cast<std::int64_t>(band.bytes);
    }
    std::int64_t bytes = 0;
    for (std::size_t at = 0; at < columns; ++at) {
        bytes += change[at];
        sums.push_back(static_cast<std::uint64_t>(bytes));
    }
}

MemoryStack stackOf(const ShownPlan& plan)
{
    MemoryStack stack;
    if (plan.run.stays.size() > kMostStays) {
        return stack;
    }
    addStays(plan, stack.bands);
    addWorkspaces(plan, stack.bands);
    stack.finish(plan.matrix.columns().size());
    return stack;
}

} // namespace retro::views
