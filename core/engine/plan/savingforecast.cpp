// SPDX-License-Identifier: Apache-2.0
#include "core/engine/plan/savingforecast.h"

#include "core/base/cancel.h"
#include "core/engine/plan/plannedsaving.h"
#include "core/engine/plan/returnbook.h"
#include "core/event/sink.h"
#include "core/lrp/arithmetic/coursearithmetic.h"
#include "core/lrp/traversal/traversal.h"

#include <algorithm>

namespace retro::engine
{

using base::Result;

namespace
{

/// Books what comes back, and nothing else.
class BookingSink final : public event::Sink
{
public:
    explicit BookingSink(ReturnBook& book) : m_book(book) {}
    void onEvent(const event::Event& event) override { m_book.take(event, event.visit); }
    void onLedger(const event::LedgerEntry&) override {}
    void onTensor(base::HandleId, const tensor::Tensor&) override {}

private:
    ReturnBook& m_book;
};

} // namespace

void countReturns(const std::vector<trace::DroppedValue>& dropped, SavingForecast& counts)
{
    const auto isBack = [](trace::ReturnWay way) {
        return [way](const trace::DroppedValue& one) {
            return std::ranges::any_of(one.returns, [way](const trace::ValueReturn& back) { return back.way == way; });
        };
    };
    counts.dropped = dropped.size();
    counts.byPromise = static_cast<std::size_t>(std::ranges::count_if(dropped, isBack(trace::ReturnWay::Promise)));
    counts.recomputed = static_cast<std::size_t>(std::ranges::count_if(dropped, isBack(trace::ReturnWay::Recompute)));
}

Result<SavingForecast> forecastSaving(const PassSubject& subject, const runtime::JointProgram& program,
                                      const schedule::Plan& plan, const std::stop_token& stop)
{
    const std::vector<base::ValueId> kept = keptAtTurn(program, plan);
    const auto saved = std::make_shared<const execute::SavePlan>(subject.model(), kept);
    const lrp::TraversalGraph& graph = *subject.graph();
    ReturnBook book(subject.model(), *subject.rules(), graph, *saved, droppedAtTurn(program, plan));
    BookingSink sink(book);
    event::NullSink none;
    const lrp::TensorArithmetic real(execute::SavedValues(subject.sharedModel(), saved, nullptr), *subject.rules(),
                                     graph, none, false);
    lrp::CourseArithmetic arithmetic(graph, real);
    std::vector<base::HandleId> starts;
    std::ranges::generate_n(std::back_inserter(starts), static_cast<std::ptrdiff_t>(subject.targets().size()),
                            [&arithmetic] { return arithmetic.newHandle(); });
    lrp::Traversal traversal(graph, arithmetic, sink, starts);
    while (!traversal.finished()) {
        RETRO_CHECK(base::checkStop(stop));
        RETRO_CHECK(traversal.step());
    }
    SavingForecast counts;
    counts.kept = kept.size();
    for (const base::ValueId value : kept) {
        counts.keptBytes += program.graph().value(program.idOf(value)).bytes;
    }
    countReturns(book.dropped(), counts);
    counts.promises = traversal.counts().promises;
    counts.visits = traversal.counts().visits;
    return counts;
}

} // namespace retro::engine
