// SPDX-License-Identifier: Apache-2.0
#include "core/engine/explain/course.h"

#include "core/base/cancel.h"
#include "core/engine/explain/stopwatch.h"
#include "core/lrp/arithmetic/coursearithmetic.h"
#include "core/lrp/traversal/traversal.h"
#include "core/program/compile.h"
#include "core/trace/runprogram.h"

#include <algorithm>
#include <iterator>

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

base::Result<std::shared_ptr<const Course>> courseAhead(const Prepared& prepared, execute::SavePolicy save,
                                                        const lrp::TraversalGraph& graph,
                                                        std::span<const base::ValueId> targets, base::Hash128 key,
                                                        const std::stop_token& stop)
{
    CourseSink sink(prepared.model->graph());
    const execute::SavedValues nothing(prepared.model, std::make_shared<const execute::SavePlan>(*prepared.model, save),
                                       nullptr);
    const lrp::TensorArithmetic real(nothing, *prepared.rules, graph, sink, false);
    lrp::CourseArithmetic arithmetic(graph, real);
    std::vector<base::HandleId> starts;
    std::ranges::generate_n(std::back_inserter(starts), static_cast<std::ptrdiff_t>(targets.size()),
                            [&arithmetic] { return arithmetic.newHandle(); });
    lrp::Traversal traversal(graph, arithmetic, sink, starts);
    while (!traversal.finished()) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_CHECK(traversal.step());
    }
    auto course = std::make_shared<Course>();
    course->counts = traversal.counts();
    course->fault = sink.fault;
    base::Result<program::Program> made = program::compile(sink.pass, prepared.model->graph(), targets, key);
    if (course->fault.empty() && made) {
        course->program = std::make_shared<const program::Program>(std::move(made).value());
    } else if (course->fault.empty()) {
        course->fault = made.error().text();
    }
    course->isChecked = false;
    return std::shared_ptr<const Course>(std::move(course));
}

base::Hash128 keyOf(const CourseOf& course, ProgramCache& cache)
{
    if (const std::optional<base::Hash128> known = cache.key(course)) {
        return *known;
    }
    const execute::BoundModel& model = *course.prepared->model;
    std::vector<tensor::Shape> shapes;
    for (std::size_t i = 0; i < model.graph().valueCount(); ++i) {
        shapes.push_back(model.typeOf(base::ValueId(i)).shape);
    }
    const base::Hash128 key =
        trace::courseKey(model.graph(), shapes, course.prepared->words, std::string(nameOf(course.save)),
                         course.targets, course.checkpoints, course.stopsAtCheckpoints);
    cache.keep(course, key);
    return key;
}

} // namespace retro::engine
