// SPDX-License-Identifier: Apache-2.0
#include "core/engine/ways/program.h"

#include "core/base/cancel.h"
#include "core/engine/explain/inputrelevance.h"
#include "core/engine/explain/stopwatch.h"
#include "core/lrp/arithmetic/coursearithmetic.h"
#include "core/lrp/traversal/traversal.h"
#include "core/program/compile.h"
#include "core/trace/runprogram.h"

#include <algorithm>
#include <iterator>

namespace retro::engine
{

using base::Result;

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

Result<KnownCourse> knownCourse(Pass& pass, bool isForInputs)
{
    const ExplainRequest& request = pass.request;
    if (!request.checkpoints.empty() || request.stopAtCheckpoints || pass.prepared->hasCheckpoints) {
        RETRO_CHECK(pass.graph()); // the key names the checkpoints
    }
    KnownCourse known;
    known.key =
        keyOf({pass.prepared, request.save, pass.targets, pass.checkpoints, request.stopAtCheckpoints}, *pass.cache);
    known.course = pass.cache->course(known.key);
    if (isForInputs && !known.course) {
        RETRO_TRY(const lrp::TraversalGraph graph, pass.graph());
        RETRO_TRY(known.course, courseAhead(*pass.prepared, request.save, graph, pass.targets, known.key, pass.stop));
        pass.cache->keep(known.key, known.course);
    } else if (known.course && !known.course->isChecked && !isForInputs) {
        known.course = nullptr;
    }
    const bool hasProgram = known.course && known.course->program;
    if (hasProgram && (!request.record || known.course->recorded)) {
        known.runner = pass.cache->runner(pass.prepared, *known.course, request.save);
    }
    return known;
}

void takeProgram(const Course& course, Pass& pass)
{
    pass.result.program = course.program;
    pass.result.programReused = true;
    pass.result.counts = course.counts;
    pass.result.nodes = course.program->nodes;
    pass.result.stoppedEarly = course.stoppedEarly;
    pass.snapshots = course.snapshots;
}

ForwardNeed ProgramWay::needs(const Pass& pass) const
{
    ForwardNeed need = PromiseWay::needs(pass);
    const auto keep = [&need](const std::vector<base::ValueId>& values) {
        need.alsoKept.insert(need.alsoKept.end(), values.begin(), values.end());
    };
    if (m_known.runner) {
        keep(m_known.runner->alsoKept());
    }
    if (m_known.runner && pass.request.record) {
        keep(m_known.course->recorded->values);
    }
    return need;
}

Result<void> ProgramWay::run(Pass& pass)
{
    if (m_known.runner) {
        RETRO_TRY(const bool isAll, runProgram(pass));
        if (isAll) {
            return {};
        }
        pass.snapshots.clear();
        pass.result.ledger.clear(); // the run cannot be made from it: a first pass
        pass.result.program.reset();
        pass.result.programReused = false;
    }
    RETRO_TRY(const lrp::TraversalGraph graph, pass.graph());
    if (!m_known.course) {
        RETRO_CHECK(firstPass(pass, graph));
    } else {
        RETRO_CHECK(carry(pass, graph));
        keepRecording(pass);
    }
    if (pass.request.engine == EngineKind::Compiled && !m_known.course->program) {
        return base::Error{base::ErrorCode::Bug,
                           m_known.course->fault + "; use --engine promise, and please report this with the model",
                           "compiled program"};
    }
    return {};
}

Result<bool> ProgramWay::runProgram(Pass& pass)
{
    const bool isRecorded = pass.request.record;
    lrp::MadeTensors made;
    RETRO_TRY(const lrp::RelevanceTable table,
              m_known.runner->run(pass.forward->saved, pass.starts, pass.stop, &pass.result.ledger,
                                  pass.progressOf("relevance"), isRecorded ? &made : nullptr));
    takeTable(table, pass.result);
    takeProgram(*m_known.course, pass);
    if (!isRecorded) {
        return true;
    }
    std::optional<trace::Run> run =
        runOf(*m_known.course->recorded, {made, pass.starts, pass.forward->saved, pass.result.ledger});
    if (run) {
        pass.recorded = std::make_shared<trace::Run>(std::move(*run));
        pass.result.ledger = pass.recorded->ledger;
    }
    return run.has_value();
}

/// Its relevance is the result; its program is checked against it bit for bit.
Result<void> ProgramWay::firstPass(Pass& pass, const lrp::TraversalGraph& graph)
{
    const Stopwatch watch;
    CourseSink sink(pass.result.model->graph());
    if (pass.request.record) {
        RETRO_CHECK(carry(pass, graph));
        std::ranges::for_each(pass.recorded->events, [&sink](const event::Event& event) { sink.onEvent(event); });
    } else {
        RETRO_CHECK(carryTo(pass, graph, sink));
        pass.result.ledger = std::move(sink.rows);
        pass.snapshots = std::move(sink.snapshots);
    }
    const double secondsPass = watch.seconds();
    auto course = std::make_shared<Course>();
    course->counts = pass.result.counts;
    course->stoppedEarly = pass.result.stoppedEarly;
    course->snapshots = pass.snapshots;
    RETRO_TRY(const double secondsRun, makeProgram({sink, *pass.prepared, pass.request.save, pass.forward->saved,
                                                    pass.targets, pass.starts, pass.result.relevance, m_known.key},
                                                   *course, pass.stop));
    pass.cache->keep(m_known.key, course);
    pass.result.program = course->program;
    m_known.course = std::move(course);
    keepRecording(pass);
    // The relevance is that of the pass and of the program alike; the time stated is that of the engine asked for.
    pass.result.secondsProgram =
        watch.seconds() - (pass.request.engine == EngineKind::Compiled ? secondsRun : secondsPass);
    return {};
}

/// The events of this pass are those of every input that takes the same course.
void ProgramWay::keepRecording(const Pass& pass)
{
    if (pass.recorded && m_known.course->program && !m_known.course->recorded) {
        auto course = std::make_shared<Course>(*m_known.course);
        course->recorded = recordedCourse(*pass.recorded, std::move(m_origins));
        pass.cache->keep(m_known.key, std::move(course));
    }
}

} // namespace retro::engine
