// SPDX-License-Identifier: Apache-2.0
#include "core/schedule/milp/milp.h"

#ifdef RETRO_WITH_CBC

#include <coin/CbcEventHandler.hpp>
#include <coin/CbcModel.hpp>
#include <coin/CbcSolver.hpp>
#include <coin/ClpEventHandler.hpp>
#include <coin/CoinPackedMatrix.hpp>
#include <coin/OsiClpSolverInterface.hpp>

#include <fmt/format.h>

#include <array>
#include <mutex>

namespace retro::schedule
{

namespace
{

/// Ends the search when the caller says so: CBC's own limit counts the processor's time and is looked at seldom.
class StopHandler final : public CbcEventHandler
{
public:
    explicit StopHandler(const std::function<bool()>& isOver) : m_isOver(&isOver) {}
    CbcEventHandler* clone() const override { return new StopHandler(*this); }
    CbcAction event(CbcEvent /*which*/) override { return *m_isOver && (*m_isOver)() ? stop : noAction; }

private:
    const std::function<bool()>* m_isOver;
};

/// The same for a linear programme, whose solver looks at no clock by itself.
class LinearStopHandler final : public ClpEventHandler
{
public:
    explicit LinearStopHandler(const std::function<bool()>& isOver) : m_isOver(&isOver) {}
    ClpEventHandler* clone() const override { return new LinearStopHandler(*this); }
    int event(Event which) override
    {
        constexpr int kGoOn = -1;
        constexpr int kStopped = 5; // by an event, as the library counts
        const bool isMoment = which == endOfIteration || which == endOfFactorization;
        return isMoment && *m_isOver && (*m_isOver)() ? kStopped : kGoOn;
    }

private:
    const std::function<bool()>* m_isOver;
};

int goOn(CbcModel* /*model*/, int /*where*/) { return 0; }

void load(const MilpProblem& problem, bool isRelaxed, OsiClpSolverInterface& solver)
{
    solver.messageHandler()->setLogLevel(0);
    solver.getModelPtr()->setLogLevel(0);
    std::vector<CoinBigIndex> starts{0}; // all rows at once: to append them one by one is quadratic
    std::vector<int> columns;
    std::vector<double> factors;
    std::vector<double> rowLow;
    std::vector<double> rowHigh;
    for (const MilpRow& row : problem.rows) {
        columns.insert(columns.end(), row.columns.begin(), row.columns.end());
        factors.insert(factors.end(), row.factors.begin(), row.factors.end());
        starts.push_back(static_cast<CoinBigIndex>(columns.size()));
        rowLow.push_back(row.sense == 'L' ? -COIN_DBL_MAX : row.right);
        rowHigh.push_back(row.sense == 'G' ? COIN_DBL_MAX : row.right);
    }
    const CoinPackedMatrix matrix(false, static_cast<int>(problem.columns.size()),
                                  static_cast<int>(problem.rows.size()), starts.back(), factors.data(), columns.data(),
                                  starts.data(), nullptr);
    std::vector<double> low;
    std::vector<double> high;
    std::vector<double> cost;
    for (const MilpColumn& column : problem.columns) {
        low.push_back(column.low);
        high.push_back(column.high);
        cost.push_back(column.cost);
    }
    solver.loadProblem(matrix, low.data(), high.data(), cost.data(), rowLow.data(), rowHigh.data());
    for (std::size_t i = 0; i < problem.columns.size(); ++i) {
        if (problem.columns[i].isInteger && !isRelaxed) {
            solver.setInteger(static_cast<int>(i));
        }
    }
}

/// Solves the relaxation, or ends when the caller says so. The handler goes again: a node of the search that was ended
/// half-way would count as one without a solution, and preprocessing does not survive one.
void solveRelaxation(OsiClpSolverInterface& solver, const std::function<bool()>& isOver)
{
    const LinearStopHandler handler(isOver);
    ClpSimplex& simplex = *solver.getModelPtr();
    simplex.passInEventHandler(&handler);
    solver.initialSolve();
    const ClpEventHandler none;
    simplex.passInEventHandler(&none);
}

MilpAnswer relaxed(const OsiClpSolverInterface& solver)
{
    MilpAnswer answer;
    if (solver.isProvenPrimalInfeasible()) {
        answer.status = MilpStatus::Infeasible;
    } else if (solver.isProvenOptimal()) {
        answer.status = MilpStatus::Optimal;
        answer.values.assign(solver.getColSolution(), solver.getColSolution() + solver.getNumCols());
        answer.objective = answer.bound = solver.getObjValue();
    }
    return answer;
}

/// The point from which the search starts, by the names of the columns, as CBC wants it.
void giveStart(const MilpProblem& problem, const std::vector<double>& start, OsiClpSolverInterface& solver,
               CbcModel& model)
{
    std::vector<std::pair<std::string, double>> values;
    for (std::size_t i = 0; i < start.size(); ++i) {
        const std::string name = fmt::format("c{}", i);
        solver.setColName(static_cast<unsigned>(i), name);
        model.solver()->setColName(static_cast<unsigned>(i), name);
        if (problem.columns[i].isInteger) {
            values.emplace_back(name, start[i]);
        }
    }
    if (!values.empty()) {
        model.setMIPStart(values);
    }
}

/// When the search was ended nothing is proven: not by the nodes that it closed on its way out either.
MilpAnswer withoutProof(MilpAnswer answer)
{
    answer.status = answer.values.empty() ? MilpStatus::Unknown : MilpStatus::Feasible;
    return answer;
}

MilpAnswer answerOf(const CbcModel& model)
{
    MilpAnswer answer;
    answer.bound = model.getBestPossibleObjValue();
    if (model.bestSolution() != nullptr) {
        answer.values.assign(model.bestSolution(), model.bestSolution() + model.getNumCols());
        answer.objective = model.getObjValue();
        answer.status = model.isProvenOptimal() ? MilpStatus::Optimal : MilpStatus::Feasible;
    } else if (model.isProvenInfeasible()) {
        answer.status = MilpStatus::Infeasible;
    }
    return answer;
}

class CbcBackend final : public MilpBackend
{
public:
    [[nodiscard]] std::string name() const override { return std::string("CBC ") + CBC_VERSION; }

    [[nodiscard]] MilpAnswer solve(const MilpProblem& problem, const MilpOptions& options) override
    {
        const std::lock_guard lock(m_mutex); // its command reader keeps settings in statics
        OsiClpSolverInterface solver;
        load(problem, options.isRelaxed, solver);
        solveRelaxation(solver, options.isOver);
        if (options.isRelaxed || !solver.isProvenOptimal()) {
            return relaxed(solver); // where the relaxation has no solution, integers have none
        }
        CbcModel model(solver);
        model.setLogLevel(0);
        CbcSolverUsefulData useful;
        useful.noPrinting_ = true;
        useful.useSignalHandler_ = false;
        CbcMain0(model, useful);
        model.setLogLevel(0);
        giveStart(problem, options.start, solver, model);
        const StopHandler handler(options.isOver);
        model.passInEventHandler(&handler);
        model.setAllowableFractionGap(options.relativeGap);
        std::array words{"retrograde", "-log", "0", "-solve", "-quit"};
        CbcMain1(static_cast<int>(words.size()), words.data(), model, goOn, useful);
        const bool isCut = options.isOver && options.isOver();
        return isCut ? withoutProof(answerOf(model)) : answerOf(model);
    }

private:
    std::mutex m_mutex;
};

} // namespace

MilpBackend* milpBackend()
{
    static CbcBackend backend;
    return &backend;
}

} // namespace retro::schedule

#else

namespace retro::schedule
{

MilpBackend* milpBackend() { return nullptr; }

} // namespace retro::schedule

#endif
