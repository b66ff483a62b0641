// SPDX-License-Identifier: Apache-2.0
#include "views/problems/problemlist.h"

#include <algorithm>
#include <iterator>

namespace retro::views
{

int ProblemList::count(Severity severity) const
{
    return static_cast<int>(std::count_if(m_problems.begin(), m_problems.end(),
                                          [severity](const Problem& p) { return p.severity == severity; }));
}

void ProblemList::add(Problem problem)
{
    const bool isError = problem.severity == Severity::Error;
    std::erase(m_problems, problem);
    m_problems.push_back(std::move(problem));
    emit changed();
    if (isError) {
        emit errorAdded();
    }
}

void ProblemList::replace(ProblemOrigin origin, std::vector<Problem> problems)
{
    const auto before = m_problems;
    std::erase_if(m_problems, [origin](const Problem& p) { return p.origin == origin; });
    std::move(problems.begin(), problems.end(), std::back_inserter(m_problems));
    if (m_problems != before) {
        emit changed();
    }
}

} // namespace retro::views

#include "moc_problemlist.cpp"
