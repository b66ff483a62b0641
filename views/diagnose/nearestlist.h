// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "views/common/paint/theme.h"
#include "views/diagnose/diagnosisstate.h"

#include <QWidget>

#include <utility>
#include <vector>

class QLabel;
class QVBoxLayout;

namespace retro::views
{

/// What stands below the findings: the silent checks that came nearest to their limits, with their numbers, and what a
/// check alone cannot see.
class NearestList final : public QWidget
{
    Q_OBJECT

public:
    explicit NearestList(QWidget* parent = nullptr);

    /// Null: nothing.
    void setDiagnosis(const DiagnosisPointer& diagnosis);
    /// Of checks that measured something below their limit and found nothing, by how near they came, at most so many.
    [[nodiscard]] static std::vector<const diagnosis::CheckRecord*> nearestOf(const diagnosis::Diagnosis& diagnosis,
                                                                              std::size_t most);

protected:
    void changeEvent(QEvent* event) override;

private:
    QLabel* addText(const QString& text, const QFont& font, Role role);
    void addRow(const diagnosis::CheckRecord& record);
    void applyColors();

    QVBoxLayout* m_column;
    std::vector<std::pair<QLabel*, Role>> m_texts;
};

} // namespace retro::views
