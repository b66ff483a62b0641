// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/run/rulesetting.h"

#include <QWidget>

#include <vector>

class QGridLayout;
class QLabel;
class QSlider;

namespace retro::views
{

/// One slider per number of the chosen composite. GUI thread.
class RuleFields final : public QWidget
{
    Q_OBJECT

public:
    explicit RuleFields(QWidget* parent = nullptr);

    /// Shows the numbers of a composite ("epsilon_plus:epsilon=0.1") without saying changed().
    void setSpecification(const QString& specification);
    /// With the numbers as they are turned now; a number at its usual value is left out.
    [[nodiscard]] const QString& specification() const { return m_specification; }

signals:
    void changed();

private:
    /// A slider with its name and figure; made once, so that Tab keeps its order.
    struct Row
    {
        QLabel* name;
        QSlider* slider;
        QLabel* figure;
        RuleSetting setting;
    };
    void addRow(QGridLayout& grid);
    void showRow(Row& row, const RuleSetting& setting);
    void turn(std::size_t at, int position);

    QString m_specification;
    std::vector<Row> m_rows;
};

} // namespace retro::views
