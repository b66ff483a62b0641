// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/milp/checkmatemodel.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace retro::schedule
{

namespace
{

/// Sizes are counted in so many parts of the budget where their common measure is finer.
constexpr std::uint64_t kParts = 200'000;

/// The largest cost that divides all others, where all are whole numbers; else what makes the largest a thousand.
double costUnitOf(const OpGraph& joint)
{
    std::uint64_t common = 0;
    double largest = 0;
    bool areWhole = true;
    for (const analysis::Op& op : joint.ops()) {
        areWhole = areWhole && op.cost == std::floor(op.cost) && op.cost < 0x1p53;
        largest = std::max(largest, op.cost);
        common = areWhole ? std::gcd(common, static_cast<std::uint64_t>(op.cost)) : common;
    }
    if (areWhole && common > 0 && largest / static_cast<double>(common) < 1e6) {
        return static_cast<double>(common);
    }
    return largest > 0 ? largest / 1000 : 1;
}

bool isSet(const std::vector<double>& values, int column)
{
    return column >= 0 && values[static_cast<std::size_t>(column)] > 0.5;
}

} // namespace

CheckmateModel::CheckmateModel(const OpGraph& joint, std::vector<OpId> order, std::uint64_t budget,
                               SizeRounding rounding)
    : m_joint(joint), m_order(std::move(order)), m_at(joint.size(), 0), m_heldOf(joint.values().size(), kNone),
      m_rounding(rounding), m_costUnit(costUnitOf(joint))
{
    for (Position i = 0; i < m_order.size(); ++i) {
        m_at[m_order[i]] = i;
    }
    findLastUses();
    addHeld();
    chooseUnits(budget);
    addRuns();
    for (Held& held : m_held) {
        addKeeping(held);
        addReading(held);
        addDrops(held);
    }
    addMemory();
}

/// Running an operator again helps until the last operator that depends on it has run.
void CheckmateModel::findLastUses()
{
    m_lastUse.resize(m_order.size());
    for (auto at = static_cast<Position>(m_order.size()); at-- > 0;) {
        const analysis::Op& op = m_joint.op(m_order[at]);
        m_lastUse[at] = at;
        for (const OpValueId output :
             op.mayRepeat() ? std::span<const OpValueId>(op.outputs) : std::span<const OpValueId>()) {
            m_lastUse[at] = std::max(m_lastUse[at], lastUseOf(output));
        }
    }
}

CheckmateModel::Position CheckmateModel::lastUseOf(OpValueId value) const
{
    if (m_joint.value(value).isRequired) {
        return static_cast<Position>(m_order.size() - 1);
    }
    Position last = 0;
    for (const OpId reader : m_joint.readers(value)) {
        last = std::max(last, m_lastUse[m_at[reader]]); // of one that runs once: its own stage
    }
    return last;
}

bool CheckmateModel::isWanted(OpValueId value) const
{
    return m_joint.value(value).isRequired || !m_joint.readers(value).empty();
}

/// Values that take room and are read, or must be there at the end. What nobody reads is there while it is made.
void CheckmateModel::addHeld()
{
    for (Position at = 0; at < m_order.size(); ++at) {
        m_own.push_back(m_joint.op(m_order[at]).workspace);
        for (const OpValueId output : m_joint.op(m_order[at]).outputs) {
            if (m_joint.value(output).isPinned) {
                continue;
            }
            if (isWanted(output)) {
                addHeld(output, at);
            } else {
                m_own.back() += m_joint.value(output).bytes;
            }
        }
    }
}

void CheckmateModel::addHeld(OpValueId value, Position producer)
{
    Held held;
    held.value = value;
    held.producer = producer;
    for (const OpId reader : m_joint.readers(value)) {
        held.readers.push_back(m_at[reader]);
    }
    std::sort(held.readers.begin(), held.readers.end());
    held.last = m_joint.value(value).isRequired ? static_cast<Position>(m_order.size()) : lastUseOf(value);
    m_heldOf[value] = static_cast<std::uint32_t>(m_held.size());
    m_held.push_back(std::move(held));
}

void CheckmateModel::chooseUnits(std::uint64_t budget)
{
    std::uint64_t common = 0;
    for (const Held& held : m_held) {
        common = std::gcd(common, m_joint.value(held.value).bytes);
    }
    for (const std::uint64_t own : m_own) {
        common = std::gcd(common, own);
    }
    m_unit = std::max<std::uint64_t>(1, common);
    if (budget / m_unit > kParts) {
        m_unit = budget / kParts;
        m_isExact = false;
    }
    // The sum of sizes rounded down is a whole number, and not above the budget rounded down.
    m_budget = static_cast<double>(budget / m_unit);
    for (Held& held : m_held) {
        held.bytes = units(m_joint.value(held.value).bytes);
    }
}

double CheckmateModel::units(std::uint64_t bytes) const
{
    const bool isMore = m_rounding == SizeRounding::Up && bytes % m_unit != 0;
    return static_cast<double>(bytes / m_unit + (isMore ? 1 : 0));
}

bool CheckmateModel::mayRun(Position stage, Position op) const
{
    return stage == op || (stage > op && stage <= m_lastUse[op]);
}

int CheckmateModel::run(Position stage, Position op) const { return mayRun(stage, op) ? m_runs[op][stage - op] : -1; }

int CheckmateModel::resident(const Held& held, Position stage)
{
    const bool isKnown = stage > held.producer && stage - held.producer - 1 < held.resident.size();
    return isKnown ? held.resident[stage - held.producer - 1] : -1;
}

void CheckmateModel::addRow(std::vector<int> columns, std::vector<double> factors, char sense, double right)
{
    m_problem.rows.push_back({std::move(columns), std::move(factors), sense, right});
}

void CheckmateModel::addRuns()
{
    m_runs.resize(m_order.size());
    for (Position op = 0; op < m_order.size(); ++op) {
        for (Position stage = op; stage <= m_lastUse[op]; ++stage) {
            const double low = stage == op ? 1 : 0; // a stage ends with the first run of its operator
            m_runs[op].push_back(m_problem.add({low, 1, m_joint.op(m_order[op]).cost / m_costUnit, true}));
        }
    }
    for (Held& held : m_held) {
        for (Position stage = held.producer + 1; stage <= held.last; ++stage) {
            held.resident.push_back(m_problem.add({0, 1, 0, true}));
        }
    }
}

/// column ≤ sum of those of `sources` that there are.
void CheckmateModel::addAtMost(int column, std::initializer_list<int> sources)
{
    MilpRow row{{column}, {1}, 'L', 0};
    for (const int source : sources) {
        if (source >= 0) {
            row.columns.push_back(source);
            row.factors.push_back(-1);
        }
    }
    m_problem.rows.push_back(std::move(row));
}

/// Not both; nothing is said where one of them is not there.
void CheckmateModel::addNotBoth(int a, int b)
{
    if (a >= 0 && b >= 0) {
        addRow({a, b}, {1, 1}, 'L', 1);
    }
}

/// What is kept was computed in the stage before or kept there; what is kept is not computed (beside another result it
/// may be).
void CheckmateModel::addKeeping(const Held& held)
{
    const bool isAlone = m_joint.op(m_order[held.producer]).outputs.size() == 1;
    for (Position stage = held.producer + 1; stage <= held.last; ++stage) {
        const int here = resident(held, stage);
        addAtMost(here, {run(stage - 1, held.producer), resident(held, stage - 1)});
        addNotBoth(here, isAlone ? run(stage, held.producer) : -1);
    }
    if (m_joint.value(held.value).isRequired) { // there when the last stage is over
        m_problem.columns[static_cast<std::size_t>(held.resident.back())].low = 1;
    }
}

/// What an operator reads was computed in this stage or is kept.
void CheckmateModel::addReading(const Held& held)
{
    for (const Position reader : held.readers) {
        for (Position stage = reader; stage <= m_lastUse[reader]; ++stage) {
            addAtMost(run(stage, reader), {run(stage, held.producer), resident(held, stage)});
        }
    }
}

/// Where a value may go: behind its readers, and at once when it is made beside what was wanted.
void CheckmateModel::addDrops(Held& held)
{
    std::vector<Position> places = held.readers;
    if (m_joint.op(m_order[held.producer]).outputs.size() > 1) {
        places.insert(places.begin(), held.producer);
    }
    const Position stages = std::min(held.last, static_cast<Position>(m_order.size() - 1));
    held.drops.resize(stages - held.producer + 1);
    for (Position stage = held.producer; stage <= stages; ++stage) {
        MilpRow once{{}, {}, 'L', 1};
        for (const Position after : places) {
            // Behind the last operator of a stage, what is not kept is gone anyway.
            if (after < stage && run(stage, after) >= 0) {
                once.columns.push_back(addDrop(held, stage, after));
                once.factors.push_back(1);
            }
        }
        if (once.columns.size() > 1) {
            m_problem.rows.push_back(std::move(once));
        }
    }
}

/// A value goes right after an operator that runs, is not kept and not read later in the stage.
int CheckmateModel::addDrop(Held& held, Position stage, Position after)
{
    const int drop = m_problem.add({0, 1, 0, true});
    held.drops[stage - held.producer].push_back({after, drop});
    addAtMost(drop, {run(stage, after)});
    addNotBoth(drop, resident(held, stage + 1));
    for (const Position later : held.readers) {
        addNotBoth(drop, later > after ? run(stage, later) : -1);
    }
    return drop;
}

void CheckmateModel::addMemory()
{
    for (Position stage = 0; stage < m_order.size(); ++stage) {
        addMemoryOf(stage);
    }
}

/// What a stage makes and drops, by operator, and what is there when it starts.
CheckmateModel::StageFlow CheckmateModel::flowOf(Position stage) const
{
    StageFlow flow;
    flow.made.resize(stage + 1);
    flow.dropped.resize(stage + 1);
    for (const Held& held : m_held) {
        if (held.producer > stage) {
            continue;
        }
        flow.start.push_back({resident(held, stage), held.bytes});
        flow.made[held.producer].push_back({run(stage, held.producer), held.bytes});
        const std::size_t at = stage - held.producer;
        for (const Drop& drop : at < held.drops.size() ? held.drops[at] : std::vector<Drop>()) {
            flow.dropped[drop.after].push_back({drop.column, held.bytes});
        }
    }
    return flow;
}

void CheckmateModel::put(MilpRow& sum, const std::vector<Amount>& amounts, double sign)
{
    for (const Amount& amount : amounts) {
        if (amount.column >= 0) {
            sum.columns.push_back(amount.column);
            sum.factors.push_back(sign * amount.bytes);
        }
    }
}

/// U after each operator of a stage: what was resident, what was made, less what was dropped before.
void CheckmateModel::addMemoryOf(Position stage)
{
    const StageFlow flow = flowOf(stage);
    MilpRow sum{{}, {}, 'E', 0};
    put(sum, flow.start, -1);
    for (Position op = 0; op <= stage; ++op) {
        put(sum, flow.made[op], -1);
        if (run(stage, op) >= 0) {
            const int used = m_problem.add({0, m_budget, 0, false});
            put(sum, {{used, 1}}, 1);
            m_problem.rows.push_back(std::exchange(sum, {{used}, {-1}, 'E', 0}));
            if (m_own[op] > 0) {
                addRow({used, run(stage, op)}, {1, units(m_own[op])}, 'L', m_budget);
            }
        }
        put(sum, flow.dropped[op], 1);
    }
}

std::vector<OpId> CheckmateModel::sequenceOf(const std::vector<double>& values) const
{
    std::vector<OpId> sequence;
    for (Position stage = 0; stage < m_order.size(); ++stage) {
        for (Position op = 0; op <= stage; ++op) {
            if (isSet(values, run(stage, op))) {
                sequence.push_back(m_order[op]);
            }
        }
    }
    return sequence;
}

std::optional<std::vector<CheckmateModel::Position>> CheckmateModel::stagesOf(const std::vector<OpId>& sequence) const
{
    std::vector<Position> stages;
    Position stage = 0;
    std::vector<Position> ranIn(m_order.size(), kNone); // by position: the last stage in which it ran
    for (const OpId op : sequence) {
        const Position at = m_at[op];
        const bool isFirst = ranIn[at] == kNone;
        if (stage == m_order.size() || isFirst != (at == stage) || ranIn[at] == stage || !mayRun(stage, at)) {
            return std::nullopt;
        }
        ranIn[at] = stage;
        stages.push_back(stage);
        stage += isFirst ? 1 : 0;
    }
    return stages;
}

std::vector<double> CheckmateModel::pointOf(const std::vector<OpId>& sequence) const
{
    const std::optional<std::vector<Position>> stages = stagesOf(sequence);
    if (!stages) {
        return {};
    }
    std::vector<double> point(m_problem.columns.size(), 0);
    for (std::size_t i = 0; i < sequence.size(); ++i) {
        point[static_cast<std::size_t>(run((*stages)[i], m_at[sequence[i]]))] = 1;
    }
    for (const Instance& stay : instancesOf(m_joint, sequence)) {
        if (m_heldOf[stay.value] != kNone) {
            setStay(m_held[m_heldOf[stay.value]], stay, sequence, *stages, point);
        }
    }
    return point;
}

/// A stay is resident at the start of every stage that begins within it, and dropped behind its last reader.
void CheckmateModel::setStay(const Held& held, const Instance& stay, const std::vector<OpId>& sequence,
                             const std::vector<Position>& stages, std::vector<double>& point) const
{
    const bool isToTheEnd = stay.isLast && m_joint.value(stay.value).isRequired;
    const Position last = isToTheEnd ? static_cast<Position>(m_order.size()) : stages[stay.end];
    for (Position stage = stages[stay.start] + 1; stage <= last; ++stage) {
        if (const int column = resident(held, stage); column >= 0) {
            point[static_cast<std::size_t>(column)] = 1;
        }
    }
    const std::size_t at = last - held.producer;
    if (isToTheEnd || at >= held.drops.size()) {
        return;
    }
    for (const Drop& drop : held.drops[at]) {
        point[static_cast<std::size_t>(drop.column)] += drop.after == m_at[sequence[stay.end]] ? 1 : 0;
    }
}

/// Rounds a relaxed solution: the values that are kept are given, the computations follow.
class CheckmateModel::Rounding
{
public:
    Rounding(const CheckmateModel& model, const std::vector<double>& values, double threshold)
        : m_model(model), m_values(values), m_threshold(threshold), m_point(values.size(), 0)
    {}

    std::vector<OpId> run()
    {
        for (Position stage = 0; stage < m_model.m_order.size(); ++stage) {
            ask(stage, stage);
            beginKeeping(stage);
            for (Position op = stage + 1; op-- > 0;) {
                askInputs(stage, op);
            }
        }
        return m_isPossible ? m_model.sequenceOf(m_point) : std::vector<OpId>();
    }

private:
    [[nodiscard]] bool isKept(const Held& held, Position stage) const
    {
        const int column = resident(held, stage);
        return column >= 0 && m_values[static_cast<std::size_t>(column)] > m_threshold;
    }

    void ask(Position stage, Position op)
    {
        const int column = m_model.run(stage, op);
        m_isPossible = m_isPossible && column >= 0;
        if (column >= 0) {
            m_point[static_cast<std::size_t>(column)] = 1;
        }
    }

    /// What begins to be kept is computed in the stage before.
    void beginKeeping(Position stage)
    {
        for (const Held& held : m_model.m_held) {
            if (stage + 1 > held.producer && isKept(held, stage + 1) && !isKept(held, stage)) {
                ask(stage, held.producer);
            }
        }
    }

    void askInputs(Position stage, Position op)
    {
        if (!isSet(m_point, m_model.run(stage, op))) {
            return;
        }
        for (const OpValueId read : m_model.m_joint.reads(m_model.m_order[op])) {
            const std::uint32_t at = m_model.m_heldOf[read];
            if (at != kNone && !isKept(m_model.m_held[at], stage)) {
                ask(stage, m_model.m_held[at].producer);
            }
        }
    }

    const CheckmateModel& m_model;
    const std::vector<double>& m_values;
    double m_threshold;
    std::vector<double> m_point;
    bool m_isPossible = true;
};

std::vector<OpId> CheckmateModel::rounded(const std::vector<double>& values, double threshold) const
{
    return Rounding(*this, values, threshold).run();
}

} // namespace retro::schedule
