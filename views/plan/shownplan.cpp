// SPDX-License-Identifier: Apache-2.0
#include "views/plan/shownplan.h"

#include "core/schedule/cutchain.h"
#include "core/schedule/planner.h"
#include "views/common/numbertext.h"

#include <QCoreApplication>
#include <QRegularExpression>
#include <QStringList>

#include <algorithm>
#include <array>
#include <cmath>

namespace retro::views
{

namespace
{

using schedule::Interval;
using schedule::kNone;

/// Most blocks that the graph's own cuts give.
constexpr std::size_t kMostCuts = 8;

QString treeText(const char* text) { return QCoreApplication::translate("retro::views::BlockTree", text); }

/// Puts intervals of blocks into boxes of rows.
class Boxes
{
public:
    Boxes(const ScheduleMatrix& matrix, const std::vector<std::uint32_t>& ends, const std::vector<Interval>& intervals)
        : m_matrix(matrix), m_ends(ends), m_intervals(intervals)
    {}

    /// One interval and what is below it; blocks themselves stand in the level behind the last split.
    void add(std::uint32_t at, std::uint32_t level)
    {
        if (at >= m_intervals.size() || level > kMaxTreeLevels) {
            return;
        }
        const Interval& one = m_intervals[at];
        addBox(one.low, one.high, level);
        if (one.left == kNone && one.right == kNone && one.high > one.low + 1) {
            addBlocks(one.low, one.high, level + 1);
        }
        // Only forwards: a damaged file cannot make it go round.
        for (const std::uint32_t child : {one.left, one.right}) {
            if (child != kNone && child > at) {
                add(child, level + 1);
            }
        }
    }

    void addBlocks(std::uint32_t low, std::uint32_t high, std::uint32_t level)
    {
        for (std::uint32_t block = low; level <= kMaxTreeLevels && block < high; ++block) {
            addBox(block, block + 1, level);
        }
    }

    /// Blocks that no interval below the root holds: a node with many children is told without them.
    void addUncovered(std::uint32_t count)
    {
        const auto rows = m_matrix.rowsOfPosition();
        for (std::uint32_t block = 0; block < count; ++block) {
            const std::uint32_t start = block == 0 ? 0 : m_ends[block - 1];
            if (start < rows.size() && tree.boxAt(rows[start]) <= 0) {
                addBox(block, block + 1, 1);
            }
        }
    }

    void addBox(std::uint32_t low, std::uint32_t high, std::uint32_t level)
    {
        const auto rows = m_matrix.rowsOfPosition();
        if (low >= high || high > m_ends.size() || m_ends[high - 1] >= rows.size()) {
            return;
        }
        const std::uint32_t from = rows[low == 0 ? 0 : m_ends[low - 1]];
        const std::uint32_t until = rows[m_ends[high - 1]];
        if (from < until) {
            const QString label = level == 0        ? treeText("%1 operators").arg(m_ends[high - 1])
                                  : high == low + 1 ? treeText("block %1").arg(high)
                                                    : treeText("blocks %1–%2").arg(low + 1).arg(high);
            tree.boxes.push_back({level, from, until, label});
            tree.levels = std::max(tree.levels, level + 1);
        }
    }

    BlockTree tree;

private:
    const ScheduleMatrix& m_matrix;
    const std::vector<std::uint32_t>& m_ends;
    const std::vector<Interval>& m_intervals;
};

std::vector<std::uint32_t> cutsOf(const analysis::JointGraph& joint)
{
    const schedule::Halves halves = schedule::halvesOf(joint.graph, schedule::storeAllSequence(joint.graph));
    const auto few = static_cast<std::size_t>(std::sqrt(static_cast<double>(halves.forward.size())));
    return halves.forward.empty()
               ? std::vector<std::uint32_t>()
               : schedule::narrowEnds(joint.graph, halves.forward, std::clamp(few, std::size_t{1}, kMostCuts));
}

using analysis::kNone;

QString shownText(const char* text) { return QCoreApplication::translate("retro::views::ShownPlan", text); }

/// Why an operator may run only once; empty when it may run again.
QString whyOnce(const analysis::Op& op)
{
    if (op.mayRepeat()) {
        return {};
    }
    return op.phase == analysis::Phase::Gradient ? shownText("a gradient runs once")
           : op.isStochastic                     ? shownText("runs once: it draws random numbers")
           : op.isEffectful                      ? shownText("runs once: it has effects")
                                                 : shownText("runs once: it is not recomputable");
}

/// Columns between the first and the last stay of a tensor at which it is not in memory.
std::int64_t stepsAway(const ScheduleMatrix& matrix, std::uint32_t row)
{
    std::int64_t away = 0;
    const auto spans = matrix.spansOf(row);
    for (std::size_t i = 1; i < spans.size(); ++i) {
        away += std::int64_t{spans[i].from} - spans[i - 1].until;
    }
    return away;
}

QString planText(std::uint64_t bytes) { return bytesText(static_cast<std::int64_t>(bytes)); }

QString columnText(std::uint32_t column) { return countText(std::int64_t{column} + 1); }

/// The columns of a run are visits.
QString columnWord(const ShownPlan& plan) { return plan.axis ? shownText("visit") : shownText("step"); }

/// How the tensor of a row went in front of column `until`, and how it came back at `from`.
QStringList gapWords(const ShownPlan& plan, std::uint32_t row, std::uint32_t until, std::uint32_t from)
{
    const ScheduleGap* gap = plan.axis ? plan.axis->gapAt(row, from) : nullptr;
    const ScheduleCell* back = plan.matrix.cellAt(row, from);
    const bool isFetched = back != nullptr && back->kind == CellKind::Prefetch;
    const QString gone = (isFetched ? shownText("moved out by %1 %2") : shownText("dropped behind %1 %2"))
                             .arg(columnWord(plan), columnText(until - 1));
    const QString returned =
        gap != nullptr ? shownText("P%1 waits for it from %2, found at %3")
                             .arg(QString::number(gap->promise), columnText(gap->from), columnText(gap->until))
                       : (isFetched ? shownText("fetched at %1") : shownText("made again at %1")).arg(columnText(from));
    return {gone, returned};
}

} // namespace

int BlockTree::boxAt(std::uint32_t row) const
{
    int best = -1;
    for (std::size_t i = 0; i < boxes.size(); ++i) {
        const bool isInside = boxes[i].from <= row && row < boxes[i].until;
        if (isInside && (best < 0 || boxes[i].level >= boxes[static_cast<std::size_t>(best)].level)) {
            best = static_cast<int>(i);
        }
    }
    return best;
}

BlockTree blockTree(const analysis::JointGraph& joint, const schedule::Plan& plan, const ScheduleMatrix& matrix)
{
    const bool isOfPlan = !plan.annotations.blocks.empty();
    const std::vector<std::uint32_t> ends = isOfPlan ? plan.annotations.blocks : cutsOf(joint);
    const auto count = static_cast<std::uint32_t>(ends.size());
    const bool hasTree = isOfPlan && !plan.annotations.intervals.empty();
    std::vector<Interval> intervals = hasTree ? plan.annotations.intervals : std::vector<Interval>();
    if (!isOfPlan && count > 0) {
        intervals = schedule::bottomUpTree(count);
    }
    Boxes boxes(matrix, ends, intervals);
    if (!intervals.empty()) {
        boxes.add(0, 0);
        boxes.addUncovered(count);
    } else if (count > 0) {
        boxes.addBox(0, count, 0);
        boxes.addBlocks(0, count, 1);
    }
    boxes.tree.isOfPlan = isOfPlan;
    return std::move(boxes.tree);
}

ShownPlanPointer shownPlan(PlanSubjectPointer subject, PlanQuestion question, schedule::PlanResult result)
{
    auto shown = std::make_shared<ShownPlan>();
    shown->subject = std::move(subject);
    shown->question = std::move(question);
    shown->result = std::move(result);
    schedule::SimulationOptions options;
    options.secondsPerCost = secondsPerCost(shown->subject->unit);
    options.budget = std::max(shown->question.budget, shown->result.peak); // the user's own may need more
    shown->run = schedule::simulate(shown->graph(), shown->plan(), options);
    shown->matrix = ScheduleMatrix(shown->subject->joint, shown->plan(), shown->run);
    shown->tree = blockTree(shown->subject->joint, shown->plan(), shown->matrix);
    shown->stack = stackOf(*shown);
    return shown;
}

std::span<const schedule::Tier> knownTiers()
{
    static const std::array kTiers{schedule::Tier{"memory", 5e9}, schedule::Tier{"compressed", 3e8},
                                   schedule::Tier{"disk", 5e8}};
    return kTiers;
}

double secondsPerCost(analysis::CostUnit unit)
{
    constexpr double kOperations = 2e10; // in a second
    return unit == analysis::CostUnit::Milliseconds ? 1e-3 : unit == analysis::CostUnit::Flops ? 1 / kOperations : 1;
}

double ShownPlan::extraWork() const { return result.baseCost > 0 ? result.cost / result.baseCost - 1 : 0; }

std::size_t ShownPlan::rebuiltTensors() const
{
    return static_cast<std::size_t>(std::ranges::count(matrix.rows(), Decision::Recompute, &ScheduleRow::decision));
}

QString ShownPlan::rowName(std::uint32_t row) const
{
    return QString::fromStdString(graph().value(matrix.rows()[row].value).name);
}

QString ShownPlan::rowLabel(std::uint32_t row) const
{
    static const QRegularExpression kOutput(QStringLiteral("_output_\\d+$"));
    const QString whole = rowName(row);
    QStringList parts = QString(whole).remove(kOutput).split(QLatin1Char('/'), Qt::SkipEmptyParts);
    const bool repeats = parts.size() > 1 && parts.back().front().isUpper() &&
                         parts.back().contains(parts[parts.size() - 2], Qt::CaseInsensitive);
    if (repeats) {
        parts.removeLast(); // "norm/BatchNormalization", "relu/Relu"
    }
    return parts.isEmpty() ? whole : parts.join(QLatin1Char('/'));
}

std::uint64_t ShownPlan::bytesOf(std::uint32_t row) const { return graph().value(matrix.rows()[row].value).bytes; }

double ShownPlan::costOf(std::uint32_t row) const { return graph().op(matrix.rows()[row].op).cost; }

QString ShownPlan::operatorLabel(std::uint32_t op) const
{
    const QString name = QString::fromStdString(graph().op(op).name);
    const bool isMade = name.startsWith(QLatin1String("d:")) || name.startsWith(QLatin1String("r:"));
    return isMade ? name.mid(2) : name;
}

QString ShownPlan::stepWords(std::uint32_t column) const
{
    const ScheduleColumn& at = matrix.columns()[column];
    const QString what = at.row != kNone ? rowLabel(at.row) : at.op != kNone ? operatorLabel(at.op) : QString();
    switch (at.cell) {
    case CellKind::Compute:
        return shownText("Compute %1").arg(what);
    case CellKind::Recompute:
        return shownText("Recompute %1").arg(what);
    case CellKind::Return:
        return what.isEmpty() ? shownText("Visit") : shownText("Visit %1").arg(what);
    case CellKind::Gradient:
        if (subject->half == PlanFor::Relevance) {
            return shownText("Relevance of %1").arg(what);
        }
        return shownText("Gradient of %1").arg(what);
    case CellKind::Offload:
        return shownText("Move %1 out").arg(what);
    case CellKind::Prefetch:
        return shownText("Fetch %1").arg(what);
    }
    return what;
}

QString ShownPlan::reasonOf(std::uint32_t row) const
{
    const ScheduleRow& one = matrix.rows()[row];
    const auto& reasons = plan().annotations.reasons;
    if (const auto own = reasons.find(one.value); own != reasons.end()) {
        return QString::fromStdString(own->second);
    }
    const QString cost = costText(costOf(row), subject->unit);
    switch (one.decision) {
    case Decision::Keep: {
        const QString once = whyOnce(graph().op(one.op));
        return once.isEmpty() ? shownText("rebuilding would cost %1 for %2").arg(cost, planText(bytesOf(row))) : once;
    }
    case Decision::Recompute:
        return shownText("out of memory for %1 steps, rebuilt for %2").arg(countText(stepsAway(matrix, row)), cost);
    case Decision::Pass:
        return subject->half == PlanFor::Relevance ? shownText("no rule reads it after the forward sweep")
                                                   : shownText("no gradient reads it after the forward sweep");
    }
    return {};
}

QString ShownPlan::storyOf(std::uint32_t row) const
{
    QStringList parts{bytesText(static_cast<std::int64_t>(bytesOf(row)))};
    const auto spans = matrix.spansOf(row);
    const QString step = columnWord(*this);
    for (std::size_t i = 1; i < spans.size(); ++i) {
        if (spans[i - 1].until == spans[i].from) {
            continue;
        }
        parts += gapWords(*this, row, spans[i - 1].until, spans[i].from);
    }
    if (matrix.rows()[row].decision == Decision::Keep && parts.size() == 1) {
        parts += shownText("kept until %1 %2").arg(step, columnText(matrix.rows()[row].last));
    } else if (matrix.rows()[row].decision == Decision::Pass && spans.size() == 1) {
        parts += shownText("dropped behind %1 %2: %3").arg(step, columnText(spans.back().until - 1), reasonOf(row));
    }
    parts += shownText("making it costs %1 of %2")
                 .arg(costText(costOf(row), subject->unit), costText(result.baseCost, subject->unit));
    return parts.join(QStringLiteral(" · "));
}

QString plannerTitle(const std::string& planner)
{
    const std::string name = planner.substr(0, planner.find(','));
    const schedule::Planner* known = schedule::findPlanner(name);
    const QString title = known != nullptr ? shownText(std::string(known->title).c_str())
                                           : QString::fromStdString(name).replace(QLatin1Char('_'), QLatin1Char(' '));
    return title + QString::fromStdString(planner.substr(name.size())); // behind the comma: another order
}

QString wordOf(Decision decision)
{
    switch (decision) {
    case Decision::Keep:
        return shownText("keep");
    case Decision::Recompute:
        return shownText("recompute");
    case Decision::Pass:
        return shownText("dropped");
    }
    return {};
}

CostScale CostScale::of(double largest, analysis::CostUnit unit)
{
    constexpr double kGiga = 1e9;
    constexpr double kMega = 1e6;
    switch (unit) {
    case analysis::CostUnit::Milliseconds:
        return {1, QStringLiteral("ms"), 3};
    case analysis::CostUnit::Flops:
        return largest >= kGiga / 10 ? CostScale{kGiga, QStringLiteral("GFLOP")}
                                     : CostScale{kMega, QStringLiteral("MFLOP")};
    case analysis::CostUnit::Operators:
        return {1, shownText("operators"), 0};
    }
    return {};
}

QString CostScale::figure(double cost) const { return fixedText(cost / divisor, digits); }

QString costText(double cost, analysis::CostUnit unit)
{
    switch (unit) {
    case analysis::CostUnit::Milliseconds:
        return valueText(cost, 3) + QStringLiteral(" ms");
    case analysis::CostUnit::Operators:
        return shownText("%1 operators").arg(valueText(cost, 4));
    default:
        break;
    }
    const CostScale scale = CostScale::of(cost, unit);
    return scale.figure(cost) + QLatin1Char(' ') + scale.unit;
}

} // namespace retro::views
