// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"

#include "core/base/ids.h"

#include <QString>
#include <QStringList>

#include <optional>
#include <vector>

namespace retro::views
{

/// A line of a page: cells in the order of the columns.
struct FactRow
{
    QStringList cells;
    Role role = Role::Text;
    base::NodeId node; ///< that the line is about; may be invalid
    QString tip = {};  ///< empty = the cells
    /// Where a double click goes; none = to where the relevance of the node was known in full.
    std::optional<std::uint64_t> position = {};
    bool isStrong = false;
};

struct FactColumn
{
    QString title;
    double width = 0;      ///< design pixels; columns of 0 share the rest
    bool isNumber = false; ///< at the right, in figures
};

/// A page of the verification view as a table, with one line above that says what it comes to. Plain value, made anew
/// when what it tells changes.
struct FactSheet
{
    QString message;
    Role role = Role::Text2; ///< of the message
    std::vector<FactColumn> columns;
    std::vector<FactRow> rows;
    QString empty; ///< why there are no rows
};

} // namespace retro::views
