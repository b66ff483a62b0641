// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace retro::schedule
{

/// An unknown of a linear programme.
struct MilpColumn
{
    double low = 0;
    double high = 1;
    double cost = 0;
    bool isInteger = true;
};

/// Σ factors[i]·column[columns[i]] ≤, = or ≥ right.
struct MilpRow
{
    std::vector<int> columns;
    std::vector<double> factors;
    char sense = 'L'; ///< 'L' ≤, 'E' =, 'G' ≥
    double right = 0;
};

/// Least Σ cost·x under rows and bounds.
struct MilpProblem
{
    std::vector<MilpColumn> columns;
    std::vector<MilpRow> rows;

    /// A new unknown; its position.
    int add(const MilpColumn& column)
    {
        columns.push_back(column);
        return static_cast<int>(columns.size()) - 1;
    }
};

/// How long, and from where.
struct MilpOptions
{
    std::vector<double> start; ///< values of a feasible point; empty = none is known
    /// Asked again and again; true, and from then on, ends the search with what it has, within a linear programme or
    /// between two nodes. What is found then is called neither optimal nor infeasible.
    std::function<bool()> isOver;
    bool isRelaxed = false; ///< integers may be fractions: the bound of the relaxation
    double relativeGap = 0; ///< the search ends when it is this close to its bound
};

enum class MilpStatus : std::uint8_t {
    Optimal,    ///< `values` are within the gap of the best
    Feasible,   ///< `values` are the best so far
    Infeasible, ///< proven: there is no feasible point
    Unknown     ///< the search ended before it found one
};

struct MilpAnswer
{
    MilpStatus status = MilpStatus::Unknown;
    std::vector<double> values; ///< one per column; empty when there are none
    double objective = 0;
    double bound = 0; ///< no feasible point costs less, up to the solver's tolerance
};

/// Solves mixed integer programmes. One at a time, from any thread.
class MilpBackend
{
public:
    virtual ~MilpBackend() = default;
    /// Name and version of the solver.
    [[nodiscard]] virtual std::string name() const = 0;
    /// Errors are a status of the answer; `problem` is well formed: columns of rows exist, numbers are finite.
    [[nodiscard]] virtual MilpAnswer solve(const MilpProblem& problem, const MilpOptions& options) = 0;
};

/// The solver that was built in (CBC, a Debian package); nullptr where there was none.
[[nodiscard]] MilpBackend* milpBackend();

} // namespace retro::schedule
