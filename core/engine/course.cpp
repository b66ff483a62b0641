// SPDX-License-Identifier: Apache-2.0
#include "core/engine/course.h"

#include "core/engine/stopwatch.h"
#include "core/program/compile.h"

namespace retro::engine
{

namespace
{

/// Compares what a program gives with the pass that it was made from, value by value as they come, so that the second
/// relevance of a value is let go before that of the next one is made.
class PassComparison
{
public:
    explicit PassComparison(const FinishedPass& pass) : m_pass(pass), m_isSeen(pass.relevance.size(), false) {}

    void take(base::NodeId node, std::uint32_t output, const tensor::Tensor& again)
    {
        const base::ValueId value = m_pass.prepared.model->graph().outputsOf(node)[output];
        if (!value.isValid()) {
            return;
        }
        m_isSeen[value.index()] = true;
        const tensor::Tensor& first = m_pass.relevance[value.index()];
        if (!first.isValid() || !first.bitEqual(again)) {
            note(value);
        }
    }

    /// Name of a value whose relevance is another one in any bit, or that got none; empty when there is none.
    [[nodiscard]] std::string fault()
    {
        for (std::size_t i = 0; i < m_isSeen.size(); ++i) {
            if (m_pass.relevance[i].isValid() && !m_isSeen[i]) {
                note(base::ValueId(i));
            }
        }
        return m_fault;
    }

private:
    void note(base::ValueId value)
    {
        if (m_fault.empty()) {
            m_fault = "value '" + m_pass.prepared.model->graph().value(value).name + "'";
        }
    }

    const FinishedPass& m_pass;
    std::vector<bool> m_isSeen; // by ValueId
    std::string m_fault;
};

} // namespace

base::Result<double> makeProgram(const FinishedPass& pass, Course& course, const std::stop_token& stop)
{
    base::Result<program::Program> made =
        program::compile(pass.sink.pass, pass.prepared.model->graph(), pass.targets, pass.key);
    if (!pass.sink.fault.empty() || !made) {
        course.fault = pass.sink.fault.empty() ? made.error().text() : pass.sink.fault;
        return 0.0;
    }
    const auto program = std::make_shared<const program::Program>(std::move(made).value());
    lrp::ProgramRunner runner(program, pass.prepared.model, pass.prepared.rules, pass.save);
    const Stopwatch watch;
    std::vector<event::LedgerEntry> ledger;
    PassComparison comparison(pass);
    double secondsComparing = 0;
    const auto take = [&](base::NodeId node, std::uint32_t output, const tensor::Tensor& again) {
        const Stopwatch comparing;
        comparison.take(node, output, again);
        secondsComparing += comparing.seconds();
    };
    RETRO_CHECK(runner.run(pass.saved, pass.starts, stop, &ledger, {}, nullptr, take));
    const double seconds = watch.seconds() - secondsComparing;
    const std::string where = comparison.fault();
    if (where.empty()) {
        course.program = program;
    } else {
        course.fault = "the program and the pass that it was made from differ at " + where;
    }
    return seconds;
}

} // namespace retro::engine
