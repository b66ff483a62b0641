// SPDX-License-Identifier: Apache-2.0
#include "core/engine/gradient/formplan.h"

#include "core/analysis/report.h"

#include <algorithm>
#include <map>
#include <optional>

namespace retro::engine
{

using analysis::OpId;
using analysis::OpValueId;
using base::ValueId;

namespace
{

class FormSequence
{
public:
    FormSequence(const runtime::JointProgram& program, const ForwardingPlan& forms, bool rebuildsOthers)
        : m_program(program), m_graph(program.graph()), m_forms(forms), m_isStored(m_graph.values().size(), true),
          m_has(m_graph.values().size(), false)
    {
        const graph::Graph& graph = program.model().graph();
        for (OpValueId id = 0; id < m_graph.values().size(); ++id) {
            m_isStored[id] = !isForwardResult(id) || isKept(graph, program.valueOf(id), rebuildsOthers);
        }
        for (OpId op = 0; op < program.forwardCount(); ++op) {
            m_opOf[program.nodeOf(op)] = op;
        }
    }

    std::vector<OpId> make()
    {
        for (OpId op = 0; op < m_program.forwardCount(); ++op) {
            m_sequence.push_back(op);
        }
        for (auto op = static_cast<OpId>(m_program.forwardCount()); op < m_graph.size(); ++op) {
            for (const OpValueId read : m_graph.reads(op)) {
                need(read);
            }
            m_sequence.push_back(op);
            forget();
        }
        return std::move(m_sequence);
    }

private:
    [[nodiscard]] bool isForwardResult(OpValueId id) const
    {
        return !m_program.isGradient(id) && !m_graph.value(id).isPinned;
    }

    [[nodiscard]] bool isKept(const graph::Graph& graph, ValueId value, bool rebuildsOthers) const
    {
        const auto at = std::ranges::find(m_forms.decisions, value, &ForwardDecision::value);
        if (at != m_forms.decisions.end()) {
            return at->form != ForwardForm::Rebuild;
        }
        const bool isInSegment = m_forms.segments.segmentOf(graph.value(value).producer).has_value();
        return !rebuildsOthers && !isInSegment;
    }

    [[nodiscard]] bool mayRepeat(OpValueId id) const { return m_graph.op(m_graph.value(id).producer).mayRepeat(); }

    /// Makes sure that a value is in memory.
    void need(OpValueId id)
    {
        if (m_isStored[id] || m_has[id] || !mayRepeat(id)) {
            return;
        }
        const OpId op = m_graph.value(id).producer;
        const std::optional<std::size_t> segment = m_forms.segments.segmentOf(m_program.nodeOf(op));
        if (segment && segment != m_segment) {
            forgetSegment();
            m_segment = segment;
            for (const base::NodeId node : m_forms.segments.nodesOf(*segment)) {
                if (const auto at = m_opOf.find(node); at != m_opOf.end()) {
                    runUnlessThere(at->second, true);
                }
            }
            return;
        }
        run(op, segment.has_value());
    }

    void runUnlessThere(OpId op, bool isOfSegment)
    {
        const auto isThere = [&](OpValueId output) {
            return m_isStored[output] || m_has[output] || !mayRepeat(output);
        };
        if (!std::ranges::all_of(m_graph.op(op).outputs, isThere)) {
            run(op, isOfSegment);
        }
    }

    void run(OpId op, bool isOfSegment)
    {
        for (const OpValueId read : m_graph.reads(op)) {
            need(read);
        }
        m_sequence.push_back(op);
        for (const OpValueId output : m_graph.op(op).outputs) {
            m_has[output] = true;
            (isOfSegment ? m_ofSegment : m_made).push_back(output);
        }
    }

    void forget()
    {
        for (const OpValueId id : m_made) {
            m_has[id] = false;
        }
        m_made.clear();
    }

    void forgetSegment()
    {
        for (const OpValueId id : m_ofSegment) {
            m_has[id] = false;
        }
        m_ofSegment.clear();
    }

    const runtime::JointProgram& m_program;
    const analysis::OpGraph& m_graph;
    const ForwardingPlan& m_forms;
    std::vector<bool> m_isStored; ///< per value: it stays until its last reader
    std::vector<bool> m_has;      ///< per value: it was computed again and is there
    std::vector<OpValueId> m_made;
    std::vector<OpValueId> m_ofSegment;
    std::optional<std::size_t> m_segment; ///< the one that is there
    std::map<base::NodeId, OpId> m_opOf;
    std::vector<OpId> m_sequence;
};

} // namespace

GraphPlan planOfForms(const runtime::JointProgram& program, const ForwardingPlan& forms, bool rebuildsOthers)
{
    GraphPlan made;
    made.chosen.plan = schedule::planOf(program.graph(), FormSequence(program, forms, rebuildsOthers).make());
    made.chosen.plan.graphHash = program.graph().hash();
    made.chosen.plan.annotations.planner = "forward";
    made.chosen.storeAllPeak = analysis::storeAllPeak(program.graph());
    for (const ForwardDecision& decision : forms.decisions) {
        if (decision.form == ForwardForm::Compress) {
            made.packed.insert(decision.value);
        }
    }
    return made;
}

} // namespace retro::engine
