// SPDX-License-Identifier: Apache-2.0
#include "views/log/nowfacts.h"

#include "views/common/numbertext.h"
#include "views/log/eventwords.h"

#include <QCoreApplication>
#include <QSet>

#include <algorithm>
#include <cmath>

namespace retro::views
{

namespace
{

using event::EventKind;
using Landing = trace::Motion::Landing;

constexpr std::uint64_t kEventsBefore = 3;
constexpr std::uint64_t kEventsBehind = 2;
constexpr double kSpanSeconds = 0.25; // as the glow of the graph
constexpr double kNoAmount = 1e-9;    // of the magnitude that arrived

QString nowWords(const char* text) { return QCoreApplication::translate("retro::views::NowView", text); }

double sumOfHandle(const trace::Run& run, base::HandleId handle) { return run.handles[handle.index()].sum; }

/// Reads the relevance of one node at the cursor.
class NowReader
{
public:
    NowReader(const RunModel& model, const trace::Motion& motion)
        : m_model(model), m_run(model.run()), m_state(model.state()), m_motion(motion), m_position(model.position()),
          m_node(m_state.current)
    {
        m_begin = m_position;
        while (m_begin > 0 && m_run.events[m_begin - 1].visit == m_state.visit) {
            --m_begin;
        }
    }

    [[nodiscard]] NowRelevance read()
    {
        m_out.node = m_node;
        m_out.name = m_model.placeLabel(m_node);
        addArrived();
        readRule();
        addHandedOn();
        addBranches();
        addRest();
        return std::move(m_out);
    }

private:
    void add(NowAmount::Kind kind, const QString& name, std::optional<double> sum)
    {
        m_out.amounts.push_back({kind, name, sum});
    }

    /// Of what has landed so far: of a branch what it got up to now, which is less than what it will get.
    [[nodiscard]] std::optional<double> sumSoFar(const Landing& landing) const
    {
        base::HandleId handle = landing.handle;
        if (!handle.isValid() && landing.promise.isValid() && landing.promise.index() < m_state.promises.size()) {
            const auto& branches = m_state.promises[landing.promise.index()].branches;
            handle = landing.branch < branches.size() ? branches[landing.branch].relevance : base::HandleId();
        }
        const bool isKnown = handle.isValid() && handle.index() < m_run.handles.size();
        return isKnown ? std::optional(sumOfHandle(m_run, handle)) : std::nullopt;
    }

    void addArrived()
    {
        const trace::NodeState& node = m_state.nodes[m_node.index()];
        std::vector<const Landing*> found;
        const auto before = m_motion.landingsBetween(0, m_position);
        for (std::size_t i = before.size(); i-- > 0 && found.size() < node.landed;) {
            if (before[i].node == m_node) {
                found.push_back(&before[i]);
            }
        }
        std::ranges::sort(found, {}, [](const Landing* landing) { return std::pair(landing->slot, landing->step); });
        for (const Landing* landing : found) {
            const auto sum = sumSoFar(*landing);
            const QString from = landing->from.isValid() ? nowWords("from %1").arg(m_model.placeLabel(landing->from))
                                                         : nowWords("from the score");
            add(sum ? NowAmount::Kind::Arrived : NowAmount::Kind::Asked, sum ? from : nowWords("asked, %1").arg(from),
                sum);
        }
        if (node.missing > 0 && node.landed > 0) {
            add(NowAmount::Kind::Asked,
                node.missing == 1 ? nowWords("1 part has not landed")
                                  : nowWords("%1 parts have not landed").arg(node.missing),
                std::nullopt);
        }
    }

    /// The rule that this visit has applied.
    void readRule()
    {
        const bool hasRule = m_node.index() < m_run.rules.size() && !m_run.rules[m_node.index()].rule.empty();
        if (hasRule) {
            m_out.rule =
                nowWords("Rule %1 at %2").arg(QString::fromStdString(m_run.rules[m_node.index()].rule), m_out.name);
        }
        for (std::uint64_t step = m_position; step-- > m_begin;) {
            const event::Event& e = m_run.events[step];
            const auto row = static_cast<std::uint64_t>(e.extra);
            if (e.kind == EventKind::Rule && e.node == m_node.value && row < m_run.ledger.size()) {
                m_entry = m_run.ledger[row];
                m_out.formula = formulaOf(*m_entry);
                return;
            }
        }
        if (hasRule) {
            const bool isOver = m_position >= m_run.eventCount();
            m_out.formula = m_state.nodes[m_node.index()].ruleApplied ? nowWords("It was applied in an earlier visit.")
                            : isOver                                  ? nowWords("It is not applied in this run.")
                                                                      : nowWords("It has not been applied yet.");
        }
    }

    [[nodiscard]] QString formulaOf(const event::LedgerEntry& entry) const
    {
        const double largest = std::max(std::abs(entry.arrived), std::abs(entry.handedOn));
        QString text = nowWords("%1 handed on").arg(amountNowText(entry.handedOn, largest));
        const auto term = [&](double amount, const QString& name) {
            if (std::abs(amount) > kNoAmount * entry.magnitude) {
                text += QStringLiteral(" %1 %2 %3")
                            .arg(amount < 0 ? QStringLiteral("−") : QStringLiteral("+"),
                                 amountNowText(std::abs(amount), largest), name);
            }
        };
        for (std::size_t cause = 0; cause < entry.causes.size(); ++cause) {
            term(entry.causes[cause], causeWords(cause));
        }
        term(entry.unexplained(), nowWords("unexplained"));
        return text + QStringLiteral(" = ") + nowWords("%1 arrived").arg(amountNowText(entry.arrived, largest));
    }

    static QString causeWords(std::size_t cause)
    {
        return QString::fromUtf8(event::nameOf(static_cast<event::Cause>(cause)).data());
    }

    void addHandedOn()
    {
        for (const Landing& landing : m_motion.landingsBetween(m_begin, m_position)) {
            if (landing.from != m_node) {
                continue;
            }
            const trace::NodeState& there = m_state.nodes[landing.node.index()];
            const auto sum = sumSoFar(landing);
            const bool isWaiting = there.missing > 0;
            const QString name = m_model.placeLabel(landing.node);
            m_isJoined = m_isJoined || landing.isJoined;
            m_shown += sum.value_or(0);
            add(!sum        ? NowAmount::Kind::Asked
                : isWaiting ? NowAmount::Kind::Waits
                            : NowAmount::Kind::HandedOn,
                !sum        ? nowWords("asks %1").arg(name)
                : isWaiting ? nowWords("waits at %1").arg(name)
                            : nowWords("to %1").arg(name),
                sum);
        }
    }

    /// What the promise of this node splits among its operands.
    void addBranches()
    {
        for (std::uint64_t step = m_begin; step < m_position; ++step) {
            const event::Event& e = m_run.events[step];
            const bool isOfNode = e.kind == EventKind::BranchRelevance && e.promise < m_state.promises.size() &&
                                  m_state.promises[e.promise].start == m_node && e.handle < m_run.handles.size();
            if (!isOfNode || e.branch >= m_state.promises[e.promise].branches.size()) {
                continue;
            }
            const trace::BranchState& branch = m_state.promises[e.promise].branches[e.branch];
            const QString where = branch.argNode.isValid() ? m_model.placeLabel(branch.argNode)
                                  : branch.path.empty()    ? QStringLiteral("P%1.%2").arg(e.promise).arg(e.branch)
                                                           : m_model.placeLabel(branch.path.back());
            const double sum = sumOfHandle(m_run, base::HandleId(e.handle));
            m_shown += sum;
            add(NowAmount::Kind::HandedOn, nowWords("to %1").arg(where), sum);
        }
    }

    void addRest()
    {
        if (!m_entry) {
            return;
        }
        const double rest = m_entry->handedOn - m_shown;
        if (!m_isJoined && std::abs(rest) > 1e-6 * m_entry->magnitude) {
            add(NowAmount::Kind::OnItsWay, nowWords("on its way"), rest);
        }
        for (std::size_t cause = 0; cause < m_entry->causes.size(); ++cause) {
            if (std::abs(m_entry->causes[cause]) > kNoAmount * m_entry->magnitude) {
                add(NowAmount::Kind::Absorbed, causeWords(cause), m_entry->causes[cause]);
            }
        }
    }

    const RunModel& m_model;
    const trace::Run& m_run;
    const trace::RunState& m_state;
    const trace::Motion& m_motion;
    std::uint64_t m_position;
    base::NodeId m_node;
    std::uint64_t m_begin = 0; // of the visit
    std::optional<event::LedgerEntry> m_entry;
    double m_shown = 0; // of what was handed on
    bool m_isJoined = false;
    NowRelevance m_out;
};

} // namespace

std::vector<NowEvent> eventsAround(const RunModel& model)
{
    std::vector<NowEvent> events;
    const trace::Run& run = model.run();
    const std::uint64_t position = model.position(); // the event before it was applied last
    const std::uint64_t first = position > kEventsBefore ? position - 1 - kEventsBefore : 0;
    const std::uint64_t end = std::min<std::uint64_t>(run.events.size(), position + kEventsBehind);
    for (std::uint64_t step = first; step < end; ++step) {
        const event::Event& e = run.events[step];
        const bool hasNode = e.node < run.graph->runNodeCount();
        events.push_back({step,
                          step >= position       ? NowEvent::When::Next
                          : step + 1 == position ? NowEvent::When::Now
                                                 : NowEvent::When::Before,
                          eventKindWord(e.kind), hasNode ? model.placeLabel(base::NodeId(e.node)) : QString(),
                          eventWords(run, step)});
    }
    return events;
}

NowRelevance relevanceNow(const RunModel& model, const trace::Motion& motion)
{
    const trace::RunState& state = model.state();
    if (!state.current.isValid() || state.current.index() >= state.nodes.size() || model.position() == 0) {
        return {};
    }
    return NowReader(model, motion).read();
}

NowSpan spanNow(const RunModel& model, const trace::Motion& motion, double speed)
{
    NowSpan span;
    const trace::Run& run = model.run();
    const std::uint64_t to = model.position();
    const double visits = motion.pace().visitsAt(static_cast<double>(to));
    const auto from = static_cast<std::uint64_t>(motion.pace().momentAt(visits - kSpanSeconds * speed));
    QSet<std::uint32_t> nodes;
    for (std::uint64_t step = from; step < to; ++step) {
        const event::Event& e = run.events[step];
        span.landed += e.kind == EventKind::Land ? 1 : 0;
        span.opened += e.kind == EventKind::NewPromise ? 1 : 0;
        span.fulfilled += e.kind == EventKind::Complete ? 1 : 0;
        if (e.kind == EventKind::Visit) {
            ++span.visits;
            nodes.insert(e.node);
        }
    }
    span.nodes = nodes.size();
    return span;
}

QString amountNowText(double amount, double largest)
{
    constexpr int kDigits = 4; // behind the point of an amount between 1 and 10
    if (!std::isfinite(amount)) {
        return valueText(amount, kDigits);
    }
    const double size = std::abs(largest);
    const int exponent = size > 0 ? static_cast<int>(std::floor(std::log10(size))) : 0;
    if (exponent < -5 || exponent > 6) {
        return valueText(amount, kDigits);
    }
    const int decimals = std::max(0, kDigits - exponent);
    const bool isTiny = amount != 0 && std::abs(amount) < 0.5 * std::pow(10.0, -decimals);
    return isTiny ? valueText(amount, 2) : fixedText(amount, decimals);
}

} // namespace retro::views
