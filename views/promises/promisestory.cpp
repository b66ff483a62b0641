// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisestory.h"

#include "core/trace/why.h"
#include "views/common/numbertext.h"

#include <QCoreApplication>

#include <algorithm>

namespace retro::views
{

namespace
{

QString translated(const char* text, int n = -1)
{
    return QCoreApplication::translate("retro::views::PromisesView", text, nullptr, n);
}

QString visitText(const RunModel& model, std::uint64_t step)
{
    return countText(std::int64_t{model.run().visitOf(step)} + 1);
}

/// "P3, P4 and P5".
QString listed(QStringList names)
{
    constexpr qsizetype kMost = 6;
    if (names.size() > kMost) {
        const qsizetype more = names.size() - kMost + 1;
        names = names.mid(0, kMost - 1);
        names.append(translated("%1 more").arg(more));
    }
    if (names.size() < 2) {
        return names.join(QString());
    }
    const QString last = names.takeLast();
    return translated("%1 and %2").arg(names.join(QStringLiteral(", ")), last);
}

/// Who has not handed over yet, each once.
QStringList sendersOf(const RunModel& model, const std::vector<trace::MissingEdge>& missing)
{
    QStringList senders;
    for (const trace::MissingEdge& edge : missing) {
        if (edge.consumer.isValid()) {
            senders.append(model.placeLabel(edge.consumer));
        }
    }
    senders.removeDuplicates();
    return senders;
}

/// Writes the story of a promise that waits.
class Waiting
{
public:
    Waiting(const RunModel& model, const PromiseForest& forest, base::PromiseId promise, PromiseStory& story)
        : m_model(model), m_forest(forest), m_promise(promise), m_facts(forest.promises()[promise.index()]),
          m_story(story)
    {}

    void tell()
    {
        const std::uint64_t now = m_model.position();
        const auto missing = std::find_if(m_facts.branches.begin(), m_facts.branches.end(),
                                          [&](const BranchFacts& b) { return !hasHappened(b.argumentAt, now); });
        if (missing != m_facts.branches.end()) {
            tellMissingOperand(*missing, missing - m_facts.branches.begin());
        } else {
            tellOperandsKnown();
            if (!hasHappened(m_facts.openAt, now)) {
                tellMissingParts();
            } else {
                tellMissingParents();
            }
        }
        tellFollowers();
    }

private:
    void tellMissingOperand(const BranchFacts& branch, std::ptrdiff_t number)
    {
        const auto known = std::count_if(m_facts.branches.begin(), m_facts.branches.end(), [&](const BranchFacts& b) {
            return hasHappened(b.argumentAt, m_model.position());
        });
        m_story.known.append(translated("%1 of %2 operands known.").arg(known).arg(m_facts.branches.size()));
        QStringList numbers;
        for (std::size_t i = 0; i < m_facts.branches.size(); ++i) {
            if (!hasHappened(m_facts.branches[i].argumentAt, m_model.position())) {
                numbers.append(QStringLiteral(".%1").arg(i));
            }
        }
        if (numbers.size() > 1) {
            m_story.missing = translated("Missing: operands %1").arg(listed(numbers));
            return; // the lines of the operands say where each search is
        }
        m_story.missing = translated("Missing: operand .%1").arg(number);
        const bool isInPromise = branch.fed && m_forest.promises()[*branch.fed].raisedAt < m_model.position();
        if (isInPromise) {
            m_story.details.append(translated("Its search ended in P%1, which has no answer yet.").arg(*branch.fed));
        } else {
            m_story.details.append(translated("Its search is still on its way towards the input."));
        }
    }

    void tellOperandsKnown()
    {
        const QString visit = m_facts.readyAt ? visitText(m_model, *m_facts.readyAt) : QString();
        const std::size_t count = m_facts.branches.size();
        if (count == 1) {
            m_story.known.append(translated("Its operand is known since visit %1.").arg(visit));
        } else if (count == 2) {
            m_story.known.append(translated("Both operands are known since visit %1.").arg(visit));
        } else {
            m_story.known.append(translated("All %1 operands are known since visit %2.").arg(count).arg(visit));
        }
    }

    void tellMissingParts()
    {
        const QString name = m_model.placeLabel(m_facts.start);
        const trace::Why why =
            trace::whyNotVisited(m_model.timeline(), *m_model.derived<trace::NodeSteps>(), m_facts.start);
        const trace::NodeState& node = m_model.state().nodes[m_facts.start.index()];
        const std::size_t all = node.parts.size();
        m_story.known.append(translated("Its relevance: part %1 of %2 has landed.").arg(node.landed).arg(all));
        const QStringList senders = sendersOf(m_model, why.missing);
        m_story.missing = senders.isEmpty() ? translated("Missing: a part of the relevance of %1").arg(name)
                                            : translated("Missing: %1 → %2").arg(listed(senders), name);
        if (why.nextVisit) {
            m_story.details.append(
                translated("%1 is visited again at visit %2.").arg(name, countText(std::int64_t{*why.nextVisit} + 1)));
        }
    }

    void tellMissingParents()
    {
        QStringList above;
        for (const std::uint32_t parent : m_facts.parents) {
            if (!hasHappened(m_forest.promises()[parent].completedAt, m_model.position())) {
                above.append(QStringLiteral("P%1").arg(parent));
            }
        }
        above.removeDuplicates();
        if (!above.isEmpty()) {
            m_story.missing = translated("Missing: the relevance of %1").arg(listed(above));
            m_story.details.append(translated("It comes down when %1 is fulfilled.").arg(listed(above)));
        } else {
            m_story.known.append(translated("Nothing is missing: it is fulfilled next."));
        }
    }

    void tellFollowers()
    {
        QStringList names;
        for (const base::PromiseId follower : m_forest.followers(m_promise, m_model.position())) {
            names.append(QStringLiteral("P%1").arg(follower.value));
        }
        if (!names.isEmpty()) {
            m_story.details.append(translated("%1 follow once P%2 is fulfilled.", static_cast<int>(names.size()))
                                       .arg(listed(names))
                                       .arg(m_promise.value));
        }
    }

    const RunModel& m_model;
    const PromiseForest& m_forest;
    base::PromiseId m_promise;
    const PromiseFacts& m_facts;
    PromiseStory& m_story;
};

/// ".1 stem/relu1: found at visit 6, 2 nodes on".
QString operandLine(const RunModel& model, const PromiseForest& forest, base::PromiseId promise, std::size_t branch)
{
    const BranchFacts& facts = forest.promises()[promise.index()].branches[branch];
    const std::uint64_t now = model.position();
    const QString end = facts.searchEnd.isValid() ? model.placeLabel(facts.searchEnd) : translated("a constant");
    const bool isRaised = promise.index() < model.state().promises.size();
    const std::size_t passed = isRaised ? model.state().promises[promise.index()].branches[branch].path.size() : 0;
    const QString chain = passed == 0   ? QString()
                          : passed == 1 ? translated(", through 1 node")
                                        : translated(", through %1 nodes").arg(passed);
    if (hasHappened(facts.argumentAt, now)) {
        return translated(".%1 %2: found at visit %3%4")
            .arg(QString::number(branch), end, visitText(model, *facts.argumentAt), chain);
    }
    const bool isInPromise = facts.fed && forest.promises()[*facts.fed].raisedAt < now;
    return isInPromise ? translated(".%1 missing: waits in P%2%3").arg(branch).arg(*facts.fed).arg(chain)
                       : translated(".%1 missing: its search is on its way%2").arg(branch).arg(chain);
}

QStringList operandLines(const RunModel& model, const PromiseForest& forest, base::PromiseId promise)
{
    const PromiseFacts& facts = forest.promises()[promise.index()];
    QStringList lines;
    if (facts.raisedAt >= model.position()) {
        return lines;
    }
    for (std::size_t branch = 0; branch < facts.branches.size(); ++branch) {
        lines.append(operandLine(model, forest, promise, branch));
    }
    QStringList parents;
    for (const std::uint32_t parent : facts.parents) {
        parents.append(QStringLiteral("P%1").arg(parent));
    }
    parents.removeDuplicates();
    if (!parents.isEmpty()) {
        lines.append(translated("Asked for by %1.").arg(listed(parents)));
    }
    return lines;
}

/// What arrived at a fulfilled promise and what it handed to its operands: the same but for what its rule kept back
/// (docs/traversal.md, invariant I4). Empty when a tensor is not there.
QString relevanceLine(const RunModel& model, base::PromiseId promise)
{
    const trace::PromiseState& state = model.state().promises[promise.index()];
    const std::vector<trace::HandleInfo>& handles = model.run().handles;
    const auto add = [&](std::optional<double>& sum, base::HandleId handle) {
        const bool isKnown = sum && handle.isValid() && handle.index() < handles.size();
        sum = isKnown ? std::optional(*sum + handles[handle.index()].sum) : std::nullopt;
    };
    std::optional<double> in = 0;
    std::optional<double> out = 0;
    for (const base::HandleId handle : state.relevance) {
        add(in, handle);
    }
    for (const trace::BranchState& branch : state.branches) {
        add(out, branch.relevance);
    }
    if (!in || !out) {
        return {};
    }
    return translated("Relevance %1 arrived, %2 went on to its operands.").arg(valueText(*in, 4), valueText(*out, 4));
}

} // namespace

PromiseStory promiseStory(const RunModel& model, const PromiseForest& forest, base::PromiseId promise)
{
    PromiseStory story;
    const PromiseFacts& facts = forest.promises()[promise.index()];
    const QString kind = facts.kind == event::PromiseKind::Pre ? translated("pre-promise")
                                                               : QString::fromUtf8(event::nameOf(facts.kind).data());
    story.title = QStringLiteral("P%1 · %2 · %3").arg(promise.value).arg(kind, model.placeLabel(facts.start));
    story.fullName = model.label(facts.start);
    story.opened = facts.raisedAt + 1;
    if (facts.completedAt) {
        story.fulfilled = *facts.completedAt + 1;
    }
    story.operands = operandLines(model, forest, promise);
    const PromiseRow* row = forest.rowOf(promise);
    story.state = row != nullptr ? forest.stateOf(*row, model.position()) : PromiseRowState::NotYet;
    if (facts.raisedAt >= model.position()) {
        story.state = PromiseRowState::NotYet;
        story.badge = translated("not yet");
        story.known.append(translated("It is opened at visit %1.").arg(visitText(model, facts.raisedAt)));
        return story;
    }
    const auto firstVisit = static_cast<std::int64_t>(model.run().visitOf(facts.raisedAt));
    if (story.state == PromiseRowState::Fulfilled) {
        const auto lastVisit = static_cast<std::int64_t>(model.run().visitOf(*facts.completedAt));
        story.badge = translated("fulfilled");
        story.known.append(translated("Opened at visit %1 because a rule needs a value that nobody saved.")
                               .arg(countText(firstVisit + 1)));
        story.known.append(translated("Fulfilled at visit %1.").arg(countText(lastVisit + 1)));
        if (const QString line = relevanceLine(model, promise); !line.isEmpty()) {
            story.known.append(line);
        }
        return story;
    }
    const std::int64_t age = std::int64_t{model.state().visit} - firstVisit;
    story.badge = translated("waits");
    if (age > 0) {
        story.badge = age == 1 ? translated("waits, 1 visit") : translated("waits, %1 visits").arg(countText(age));
    }
    Waiting(model, forest, promise, story).tell();
    return story;
}

PromiseStory nodeStory(const RunModel& model, base::NodeId node)
{
    PromiseStory story;
    story.isNode = true;
    story.title = QStringLiteral("%1 · %2").arg(model.op(node), model.placeLabel(node));
    story.fullName = model.label(node);
    trace::Why why = trace::whyNotVisited(model.timeline(), *model.derived<trace::NodeSteps>(), node,
                                          [&](base::NodeId each) { return model.placeLabel(each).toStdString(); });
    const bool isReached = model.derived<trace::NodeSteps>()->isReached(node);
    story.known.append(why.visits == 0   ? isReached ? translated("It has not been visited yet.")
                                                     : translated("It is never visited in this run.")
                         : why.visits == 1 ? translated("It was visited once.")
                                         : translated("It was visited %1 times.").arg(why.visits));
    if (why.inEdges > 0) {
        story.known.append(translated("%1 of %2 parts have landed.")
                               .arg(why.inEdges - static_cast<std::uint32_t>(why.missing.size()))
                               .arg(why.inEdges));
    }
    const QStringList senders = sendersOf(model, why.missing);
    if (!senders.isEmpty()) {
        story.missing = translated("Missing: %1 → %2").arg(listed(senders), model.placeLabel(node));
    } else if (why.waitsFor.promise.isValid()) {
        story.missing = translated("Missing: P%1.%2").arg(why.waitsFor.promise.value).arg(why.waitsFor.branch);
    }
    if (why.nextVisit) {
        why.lines.pop_back(); // says the next visit, which is a button here
        story.fulfilled = model.run().visitStart[*why.nextVisit] + 1;
    }
    const bool isDone = why.visits > 0 && !why.nextVisit && why.missing.empty() && !why.waitsFor.promise.isValid();
    for (const std::string& line : why.lines) {
        if (isDone) {
            break; // nothing is missing: the visits have said so
        }
        story.details.append(QString::fromStdString(line));
    }
    return story;
}

} // namespace retro::views
