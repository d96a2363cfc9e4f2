#include "report/predict_report.h"
void predict_html(predict_report *r)
{
    (void)r;
}
