// SPDX-License-Identifier: Apache-2.0
#include "views/promises/promisetable.h"

#include "core/base/jsonout.h"
#include "views/common/run/runtexts.h"
#include "views/promises/promisefigures.h"
#include "views/promises/promisetreemodel.h"

#include <nlohmann/json.hpp>

#include <algorithm>

namespace retro::views
{

namespace
{

using nlohmann::ordered_json;

class Writer
{
public:
    Writer(const RunModel& model, const PromiseForest& forest, TableFormat format)
        : m_model(model), m_run(model.run()), m_forest(forest), m_now(model.position()),
          m_text(format, "promises", runTexts(model.run(), model.position()),
                 {"promise", "kind", "node", "state", "opened_event", "opened_visit", "fulfilled_event",
                  "fulfilled_visit", "age_visits", "age_events", "depth", "shape", "bytes", "branches", "found",
                  "missing", "parents"}),
          m_isJson(format == TableFormat::Json)
    {}

    std::string write()
    {
        for (std::size_t i = 0; i < m_forest.promises().size(); ++i) {
            writePromise(base::PromiseId(i));
        }
        return m_text.take();
    }

private:
    using Number = std::optional<std::uint64_t>;

    void addMoment(const Number& step)
    {
        m_text.cells(step ? Number(*step + 1) : Number(), step ? Number(m_run.visitOf(*step) + 1) : Number());
    }

    [[nodiscard]] const trace::PromiseState* stateOf(base::PromiseId promise) const
    {
        return promise.index() < m_model.state().promises.size() ? &m_model.state().promises[promise.index()] : nullptr;
    }

    [[nodiscard]] PromiseRowState stateOf(const PromiseFacts& facts) const
    {
        if (facts.raisedAt >= m_now) {
            return PromiseRowState::NotYet;
        }
        const bool isDone = facts.completedAt && *facts.completedAt < m_now;
        return isDone ? PromiseRowState::Fulfilled : PromiseRowState::Waits;
    }

    void writePromise(base::PromiseId promise)
    {
        const PromiseFacts& facts = m_forest.promises()[promise.index()];
        const trace::PromiseState* state = stateOf(promise);
        const auto found = std::count_if(facts.branches.begin(), facts.branches.end(), [&](const BranchFacts& branch) {
            return branch.argumentAt && *branch.argumentAt < m_now;
        });
        const auto branches = static_cast<std::int64_t>(facts.branches.size());
        m_text.cells(promise.value, event::nameOf(facts.kind), m_model.label(facts.start), wordOf(stateOf(facts)));
        addMoment(facts.raisedAt);
        addMoment(facts.completedAt);
        const std::optional<PromiseAge> age = ageOf(facts, m_now);
        m_text.cells(age ? Number(age->visits(m_run)) : Number(), age ? Number(age->events()) : Number(), facts.depth,
                     shapeText(m_run, facts), state != nullptr ? heldBytes(m_run, *state) : std::int64_t{0}, branches,
                     found, branches - found);
        m_text.addList(facts.parents);
        if (m_isJson) {
            m_text.addDetail("operands", base::jsonOut(branchesOf(facts, state)));
        }
        m_text.endRow();
    }

    [[nodiscard]] ordered_json nameOf(base::NodeId node) const
    {
        const bool isKnown = node.isValid() && node.index() < m_run.graph->runNodeCount();
        return isKnown ? ordered_json(m_run.graph->labelOf(node)) : ordered_json();
    }

    [[nodiscard]] ordered_json chainOf(const trace::BranchState& branch) const
    {
        ordered_json chain = ordered_json::array();
        for (const base::NodeId node : branch.path) {
            chain.push_back(nameOf(node));
        }
        return chain;
    }

    [[nodiscard]] ordered_json branchesOf(const PromiseFacts& facts, const trace::PromiseState* state) const
    {
        ordered_json all = ordered_json::array();
        for (std::size_t i = 0; i < facts.branches.size(); ++i) {
            const BranchFacts& branch = facts.branches[i];
            const bool isKnown = state != nullptr && i < state->branches.size();
            ordered_json one{{"branch", i}};
            one["found_visit"] =
                branch.argumentAt ? ordered_json(m_run.visitOf(*branch.argumentAt) + 1) : ordered_json();
            one["found_at"] = nameOf(branch.foundAt);
            one["search_end"] = nameOf(branch.searchEnd);
            one["promise"] = branch.fed ? ordered_json(*branch.fed) : ordered_json();
            one["chain"] = isKnown ? chainOf(state->branches[i]) : ordered_json::array();
            all.push_back(std::move(one));
        }
        return all;
    }

    const RunModel& m_model;
    const trace::Run& m_run;
    const PromiseForest& m_forest;
    std::uint64_t m_now = 0;
    TableText m_text;
    bool m_isJson = false;
};

} // namespace

std::string promiseTable(const RunModel& model, const PromiseForest& forest, TableFormat format)
{
    return Writer(model, forest, format).write();
}

} // namespace retro::views
